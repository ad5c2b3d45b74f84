// MPI's profiling interface (MPI 3.1, §14): these functions stand before those of the library, also for ScaLAPACK.
// They count what is sent, and tell recordings where a rank waits.
#include <mpi.h>

#include <atomic>
#include <bit>
#include <optional>

#include "base/text.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "ops/witness.hpp"
#include "trace/recorder.hpp"
#include "wellposed/dist.hpp"

namespace wp::dist {
namespace {

std::atomic<std::int64_t> messages{0}, sent{0};
std::atomic<double> flops_done{0};

// For the recording, if there is one: what was done so far stays there whatever ends the process.
void record() noexcept {
  trace::note_traffic({static_cast<std::uint64_t>(messages.load(std::memory_order_relaxed)),
                       static_cast<std::uint64_t>(sent.load(std::memory_order_relaxed)),
                       static_cast<std::uint64_t>(flops_done.load(std::memory_order_relaxed))});
}

void count(std::int64_t times, std::int64_t elements, MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  messages.fetch_add(times, std::memory_order_relaxed);
  sent.fetch_add(times * elements * bytes, std::memory_order_relaxed);
  record();
}
// A tree has this many levels.
std::int64_t levels(MPI_Comm comm) {
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  return std::bit_width(static_cast<unsigned>(ranks - 1));
}

// The rank of the whole that a rank of a part is.
std::string peer_name(MPI_Comm comm, int peer) {
  if (peer < 0) return "any rank";
  MPI_Group part = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  int whole = peer;
  PMPI_Comm_group(comm, &part);
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Group_translate_ranks(part, 1, &peer, all, &whole);
  PMPI_Group_free(&part);
  PMPI_Group_free(&all);
  return say("rank ", whole);
}
class Waiting {
 public:
  explicit Waiting(const char* function) {
    if (in_session() && witnessed()) stage_.emplace(function);
  }
  Waiting(const char* function, const char* way, MPI_Comm comm, int peer) {
    if (in_session() && witnessed()) stage_.emplace(say(function, way, peer_name(comm, peer)));
  }

 private:
  std::optional<Stage> stage_;
};

}  // namespace

void count_flops(double flops) noexcept {
  flops_done.store(flops_done.load(std::memory_order_relaxed) + flops, std::memory_order_relaxed);
  record();
}

Traffic traffic() {
  return {messages.load(), sent.load(), flops_done.load()};
}

}  // namespace wp::dist

using wp::dist::Waiting;

extern "C" {
#define WP_MPI [[gnu::visibility("default")]] int
WP_MPI MPI_Send(const void* buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  wp::dist::count(1, n, type);
  const Waiting waiting("MPI_Send", " to ", comm, to);
  return PMPI_Send(buf, n, type, to, tag, comm);
}
WP_MPI MPI_Rsend(const void* buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  wp::dist::count(1, n, type);
  const Waiting waiting("MPI_Rsend", " to ", comm, to);
  return PMPI_Rsend(buf, n, type, to, tag, comm);
}
WP_MPI MPI_Isend(const void* buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  wp::dist::count(1, n, type);
  return PMPI_Isend(buf, n, type, to, tag, comm, request);
}
WP_MPI MPI_Recv(void* buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  const Waiting waiting("MPI_Recv", " from ", comm, from);
  return PMPI_Recv(buf, n, type, from, tag, comm, status);
}
WP_MPI MPI_Sendrecv(const void* out, int out_n, MPI_Datatype out_type, int to, int out_tag, void* in, int in_n,
                    MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  wp::dist::count(1, out_n, out_type);
  const Waiting waiting("MPI_Sendrecv", " from ", comm, from);
  return PMPI_Sendrecv(out, out_n, out_type, to, out_tag, in, in_n, in_type, from, in_tag, comm, status);
}
WP_MPI MPI_Bcast(void* buf, int n, MPI_Datatype type, int root, MPI_Comm comm) {
  wp::dist::count(wp::dist::levels(comm), n, type);
  const Waiting waiting("MPI_Bcast", " from ", comm, root);
  return PMPI_Bcast(buf, n, type, root, comm);
}
WP_MPI MPI_Reduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  wp::dist::count(wp::dist::levels(comm), n, type);
  const Waiting waiting("MPI_Reduce", " to ", comm, root);
  return PMPI_Reduce(in, out, n, type, op, root, comm);
}
WP_MPI MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  wp::dist::count(2 * wp::dist::levels(comm), n, type);
  const Waiting waiting("MPI_Allreduce");
  return PMPI_Allreduce(in, out, n, type, op, comm);
}
WP_MPI MPI_Barrier(MPI_Comm comm) {
  wp::dist::count(wp::dist::levels(comm), 0, MPI_BYTE);
  const Waiting waiting("MPI_Barrier");
  return PMPI_Barrier(comm);
}
WP_MPI MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  const Waiting waiting("MPI_Comm_create");
  return PMPI_Comm_create(comm, group, made);
}
WP_MPI MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  const Waiting waiting("MPI_Comm_split");
  return PMPI_Comm_split(comm, color, key, made);
}
WP_MPI MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  const Waiting waiting("MPI_Comm_dup");
  return PMPI_Comm_dup(comm, made);
}
WP_MPI MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
  const Waiting waiting("MPI_Waitall");
  return PMPI_Waitall(n, requests, statuses);
}
#undef WP_MPI
}
