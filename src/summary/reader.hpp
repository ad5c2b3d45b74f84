// Records of an event file, one after the other; damage is passed over.
#pragma once
#include <functional>
#include <string_view>

#include "wellposed/events.hpp"

namespace wp::summary {

// each(bytes of an event) for every record whose CRCs are right. damaged(offset, bytes, reason) for what lies
// between.
void each_record(std::string_view file, const std::function<void(std::string_view)>& each,
                 const std::function<void(std::uint64_t, std::uint64_t, std::string)>& damaged);

// Adds what a serialised event says; false: it is no event.
bool add_event(Events& to, std::string_view event);

}  // namespace wp::summary
