// Included once per instruction set, after block.inl: blocks that are worked on in turns. What is done to one of them
// is a chain of operations that wait for each other, and others fill the time.

// How many: those of more than eight rows have enough to do by themselves, and would take much room; two rows need no
// chain.
template <class S>
inline constexpr int in_turns = S::fixed&& S::most > 2 ? 4 : 1;
// f(first, have, count) for every `most` blocks of a range, which have `have` members in `count` blocks.
template <class F>
WP_PACK void in_groups(int most, Range range, F f) {
  for (std::int64_t i = range.begin; i < range.end; i += most * W) {
    const auto have = static_cast<int>(std::min<std::int64_t>(most * W, range.end - i));
    f(i, have, (have + W - 1) / W);
  }
}
// How many of `have` members are in block b.
WP_PACK int members_in(int b, int have) {
  return std::min(W, have - b * W);
}
