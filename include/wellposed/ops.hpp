// Generated from the op table by tools/generate.py; edit the room, not this file.
#pragma once
#include "wellposed/ops/activation.hpp"
#include "wellposed/ops/creation.hpp"
#include "wellposed/ops/data_type.hpp"
#include "wellposed/ops/element_wise.hpp"
#include "wellposed/ops/indexing.hpp"
#include "wellposed/ops/linear_algebra.hpp"
#include "wellposed/ops/manipulation.hpp"
#include "wellposed/ops/random.hpp"
#include "wellposed/ops/searching.hpp"
#include "wellposed/ops/special.hpp"
#include "wellposed/ops/statistical.hpp"
#include "wellposed/ops/utility.hpp"
