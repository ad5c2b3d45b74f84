// What the bindings of wellposed.nn share.
#pragma once
#include "bind.hpp"

namespace wp::python {

// A function of Python's; it may be copied, called and dropped without Python's lock.
using Held = std::shared_ptr<nb::object>;
inline Held held_of(nb::object f) {
  return {new nb::object(std::move(f)), [](nb::object* o) {
            const nb::gil_scoped_acquire lock;
            delete o;
          }};
}

void bind_optimizers(nb::module_& m);

}  // namespace wp::python
