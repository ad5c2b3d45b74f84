// What a stream is attached to, and whether it wants colours.
#pragma once
#include <cstdio>

namespace wp::terminal {

bool is_tty(std::FILE* stream) noexcept;
// WELLPOSED_COLOR=always|never decides; with auto (the default) colours need a terminal that is not dumb, and
// NO_COLOR (https://no-color.org) unset or empty.
bool colours(std::FILE* stream) noexcept;
// Columns of the terminal; 80 when there is none.
int width(std::FILE* stream) noexcept;

}  // namespace wp::terminal
