// Attributes of ops as options of commands: if_ill is --if-ill, with the doc, the choices and the default of the
// room.
#pragma once
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wp::cli {

class AttributeOptions {
 public:
  // Options for the attributes of the op that have none yet, but for `others`. Values that an attribute does not take
  // are refused with those that it does.
  void declare(CLI::App& app, const Op& op, std::initializer_list<std::string_view> others = {});

  // One per attribute of the op: what was told, else its default; names as given here.
  std::vector<Attr> of(const Op& op, const std::vector<std::string>& names = {}) const;
  // Told options that the op does not have.
  std::vector<std::string> foreign(const Op& op) const;
  // What was told, else the default; empty where there is none.
  std::string text(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  // Whether the attribute takes this value.
  bool takes(std::string_view name, std::string_view choice) const;

 private:
  struct Told {
    const AttrSpec* spec;
    std::string text;               // empty: not told
    bool flag = false;              // of a boolean
    CLI::Option* option = nullptr;  // whether that was told
  };
  const Told* find(std::string_view name) const;
  static bool given(const Told& told);
  static Attr attr_of(const AttrSpec& spec, const Told& told);

  std::deque<Told> told_;  // options refer to its elements
};

// --if-ill
std::string option_name(std::string_view attribute);

}  // namespace wp::cli
