// Programs: texts inside of other frameworks' compiled graphs that say which function of the op table is to be
// called.
#pragma once
#include <map>
#include <shared_mutex>

#include "bind.hpp"

namespace wp::python {

class Programs {
 public:
  // plan(program): (function of the op table, options) if that is all it takes, or None.
  explicit Programs(nb::object plan) : plan_(std::move(plan)) {}
  // What is known of a program; without an op, it is more than a call of the table. Looked up without Python's lock.
  const Planned& of(std::string_view program, std::size_t tensors);

 private:
  nb::object plan_;
  std::shared_mutex mutex_;
  std::map<std::string, Planned, std::less<>> known_;  // entries stay where they are
};

// Warns of what was found, in a thread that does not have Python's lock.
void tell_findings_unlocked();
// What an exception says, in a thread that does not have Python's lock: to be called where one is handled.
std::string words_of_exception();

}  // namespace wp::python
