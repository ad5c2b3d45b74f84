// Generated from the op table by tools/generate.py; edit the room, not this file.
#pragma once
#include "wellposed/ops/element_wise.hpp"
#include "wellposed/ops/manipulation.hpp"
#include "wellposed/ops/statistical.hpp"
