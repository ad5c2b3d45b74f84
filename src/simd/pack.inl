// Included once per instruction set, after kPackBytes, and followed by fma(), any(), lesser(a, b) = a < b ? a : b,
// square_root(), inverse_root() and multiply_add() of Fours.
// A pack is one vector register of T; the compiler's vector operators act lane by lane, and `mask ? a : b` selects.

template <class T>
struct Pack;
template <>
struct Pack<float> {
  typedef float Values __attribute__((vector_size(kPackBytes)));
  typedef std::int32_t Signed __attribute__((vector_size(kPackBytes)));
  typedef std::uint32_t Unsigned __attribute__((vector_size(kPackBytes)));
  typedef float Half __attribute__((vector_size(kPackBytes / 2)));
};
template <>
struct Pack<double> {
  typedef double Values __attribute__((vector_size(kPackBytes)));
  typedef std::int64_t Signed __attribute__((vector_size(kPackBytes)));
  typedef std::uint64_t Unsigned __attribute__((vector_size(kPackBytes)));
};
template <class T>
using Vec = typename Pack<T>::Values;
template <class T>
using Int = typename Pack<T>::Signed;
template <class T>
using Uint = typename Pack<T>::Unsigned;
// Four numbers, whatever the width of registers is.
template <class T>
struct FourOf {
  typedef T type __attribute__((vector_size(4 * sizeof(T))));
};
template <class T>
using Four = typename FourOf<T>::type;
