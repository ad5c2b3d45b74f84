// Tests that all ranks run together: mpirun -n 4 wp_dist_tests. Rank 0 speaks; a failure on any rank fails the run.
#include <gtest/gtest.h>
#include <mpi.h>

#include <iostream>

#include "long_tests.hpp"
#include "wellposed/dist.hpp"

namespace {

// What failed on a rank other than 0 is told too.
class Quiet : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& r) override {
    if (r.failed())
      std::cerr << "rank " << wp::dist::rank() << ": " << (r.file_name() ? r.file_name() : "") << ":"
                << r.line_number() << ": " << r.message() << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const wp::dist::Session session;
  if (wp::dist::size() == 3 && !long_tests()) ::testing::GTEST_FLAG(filter) = "Axis.*:Grid.*:Matrix.*:Solve.Gives*";
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (wp::dist::rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Quiet);
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed;
}
