// wellposed tour: real code beside its real output, chapter by chapter.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "wellposed/context.hpp"

namespace wp::cli {
namespace {

// Waits for Enter; false when the reader has gone.
bool go_on(std::string_view next) {
  std::cout << "  Enter for “" << next << "”, q to end: " << std::flush;
  std::string line;
  return std::getline(std::cin, line) && line != "q";
}

int run_tour(bool pauses) {
  const checks as_described(CheckLevel::escape);  // whatever WELLPOSED_CHECKS says
  Show show;
  const std::span<const Chapter> all = chapters();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (pauses && i > 0 && !go_on(all[i].title)) return fine;
    show.title(say(i + 1, ". ", all[i].title));
    all[i].run(show);
  }
  return fine;
}

}  // namespace

extern const Command tour_command;
const Command tour_command = {"tour", "A walk through what wellposed does: real code beside its real output.",
                              "  wellposed tour              waits for Enter between chapters\n"
                              "  wellposed tour --yes        does not wait\n"
                              "  wellposed tour | less -R    does not wait either: there is nobody at a terminal",
                              [](CLI::App& app) -> std::function<int()> {
                                auto yes = std::make_shared<bool>(false);
                                app.add_flag("--yes", *yes, "Do not wait for Enter between chapters.");
                                return [yes] {
                                  return run_tour(!*yes && terminal::is_tty(stdin) && terminal::is_tty(stdout));
                                };
                              }};

}  // namespace wp::cli
