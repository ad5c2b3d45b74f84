// All ranks of the session, and how they stay in step: they meet before every collective, and what fails on one rank
// fails on all.
#pragma once
#include <mpi.h>

#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "wellposed/dist.hpp"

namespace wp::dist {

// Of the session; raises ArgumentError where there is none.
MPI_Comm world();
bool in_session() noexcept;

// The ranks meet: each says what it is about to do. Where they differ, all raise ArgumentError (ShapeError, if only
// shapes do) that lists what each said; nothing collective has begun then, so nobody waits for ever.
void meet(std::string_view what);

// Of texts that are compared without being sent.
std::uint64_t hash_of(std::string_view text);

// Raises on every rank if `error` is set on any: the error of the lowest such rank, by its type and finding, and
// which rank that was, unless all have the same.
void agree(std::exception_ptr error, bool with_rank = true);
// While it lives, this rank runs what must not communicate: meet() refuses.
class Alone {
 public:
  Alone();
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  const bool outer_;
};
// f runs on every rank and must not communicate.
template <class F>
void together(F&& f, bool with_rank = true) {
  std::exception_ptr error;
  try {
    const Alone here;
    f();
  } catch (...) {
    error = std::current_exception();
  }
  agree(error, with_rank);
}

template <class T>
MPI_Datatype mpi_type();
template <>
inline MPI_Datatype mpi_type<int>() {
  return MPI_INT;
}
template <>
inline MPI_Datatype mpi_type<std::int64_t>() {
  return MPI_INT64_T;
}
template <>
inline MPI_Datatype mpi_type<double>() {
  return MPI_DOUBLE;
}

// In place, over all ranks, in pieces that MPI's 32-bit counts hold. The same bits on every rank.
template <class T>
void all_reduce(T* values, std::int64_t count, MPI_Op op) {
  constexpr std::int64_t kPiece = 1 << 24;
  for (std::int64_t at = 0; at < count; at += kPiece)
    MPI_Allreduce(MPI_IN_PLACE, values + at, static_cast<int>(std::min(kPiece, count - at)), mpi_type<T>(), op,
                  world());
}
// Sums whose bits must be the same everywhere: one rank adds, and tells.
void all_sum(double* values, std::int64_t count);
template <class T>
T reduced(T value, MPI_Op op) {
  all_reduce(&value, 1, op);
  return value;
}
// Every byte comes from the one rank that has it; the others have 0 there.
void all_join(void* bytes, std::size_t count);
void broadcast(void* bytes, std::size_t count, int root = 0);
std::string broadcast_text(const std::string& text, int root = 0);
std::vector<std::string> all_texts(const std::string& own);  // by rank

}  // namespace wp::dist
