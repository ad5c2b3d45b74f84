#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <new>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/paint.hpp"
#include "wellposed/diagnosis.hpp"
#include "wellposed/version.hpp"

namespace wp::cli {
namespace {

constexpr const char* kAbout =
    "Tensors in which every number can be held to account.\n"
    "Data goes to stdout, messages to stderr.";
constexpr const char* kExamples =
    "Examples:\n"
    "  wellposed tour              a walk through what it does\n"
    "  wellposed doctor            is this machine set up well?\n"
    "  wellposed ops               every operation, by chapter\n"
    "  wellposed ops log           one operation in full\n"
    "  wellposed ops --json | jq '.ops[].name'\n"
    "  wellposed diagnose A.npy    what is wrong with a matrix\n"
    "  wellposed solve A.npy b.npy --out x.npy\n"
    "  wellposed schema infer train.npy --out s.toml\n"
    "  wellposed validate new.npy --schema s.toml\n"
    "  wellposed postmortem run.wpr    what a process was doing when it died\n"
    "  wellposed bisect --data X.npy -- ./train {}\n"
    "\n"
    "Exit codes: 0 fine, 1 a finding, 2 wrong usage, 3 bad input, 4 internal error.\n"
    "Environment: WELLPOSED_CHECKS, _THREADS, _ISA, _COLOR, _RECORD (docs/environment.md).";

int complain(std::string_view words, Exit code) {
  const std::string text = say(Paint(stderr).red("wellposed:"), ' ', words, '\n');
  std::fwrite(text.data(), 1, text.size(), stderr);
  return code;
}

int code_of(const Error& e) {
  if (dynamic_cast<const InternalError*>(&e)) return internal;
  if (dynamic_cast<const NonFiniteError*>(&e) || dynamic_cast<const LinalgError*>(&e)) return finding;
  return bad_input;
}

// What was printed must have arrived: a full disk is not a success.
int close_output(int code) {
  std::cout.flush();
  const bool failed = !std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  return failed && code != internal ? complain("stdout could not be written (a full disk?).", internal) : code;
}

int parse_and_run(CLI::App& app, int argc, const char* const* argv) {
  app.set_help_flag("-h,--help", "Show this help and exit.");
  app.set_version_flag("--version", say("wellposed ", version()), "Show the version and exit.");
  app.get_formatter()->column_width(26);
  app.footer(kExamples);
  std::function<int()> chosen;
  for (const Command& c : commands()) {
    CLI::App* const sub = app.add_subcommand(c.name, c.summary);
    sub->footer(say("Examples:\n", c.examples));
    sub->callback([&chosen, action = c.declare(*sub)] { chosen = action; });
  }
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e, std::cout, std::cerr);  // --help, --version
    const auto used = app.get_subcommands();
    const std::string command = used.empty() ? "wellposed" : "wellposed " + used[0]->get_name();
    return complain(say(e.what(), "\nTry: ", command, " --help"), usage);
  }
  if (chosen) return chosen();
  std::cerr << app.help();
  return usage;
}

}  // namespace

int run(int argc, const char* const* argv) try {
  CLI::App app(kAbout, "wellposed");
  return close_output(parse_and_run(app, argc, argv));
} catch (const UsageError& e) {
  return complain(e.words, usage);
} catch (const Error& e) {
  std::string_view words = e.what();
  if (words.starts_with("wellposed: ")) words.remove_prefix(11);  // no function was named; complain says who speaks
  return complain(words, static_cast<Exit>(code_of(e)));
} catch (const std::bad_alloc&) {
  return complain("the process ran out of memory. Free some, or give the process more.", internal);
} catch (const std::exception& e) {
  return complain(say("internal error: ", e.what(), ". This is a defect of wellposed; please report it."), internal);
} catch (...) {
  return complain("internal error of an unknown kind. This is a defect of wellposed; please report it.", internal);
}

}  // namespace wp::cli
