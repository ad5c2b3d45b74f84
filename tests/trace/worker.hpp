// A process that records itself and dies.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "files.hpp"
#include "trace/report.hpp"

namespace {

class Worker {
 public:
  Worker(const std::string& file, const std::string& mode, const std::string& variable = "") {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 1);
      close(2);
      open("/dev/null", O_WRONLY);
      if (!variable.empty()) setenv("WELLPOSED_RECORD", variable.c_str(), 1);
      execl(WP_RECORD_WORKER, WP_RECORD_WORKER, file.c_str(), mode.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    out_ = ends[0];
  }
  ~Worker() { close(out_); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  pid_t pid() const { return pid_; }
  void wait_until_ready() const {
    char text[8];
    EXPECT_GT(read(out_, text, sizeof text), 0);
  }
  std::string said() const {
    char text[64];
    const ssize_t n = read(out_, text, sizeof text);
    return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  int wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_;
  int out_;
};

class Recordings : public Files {
 protected:
  // The post-mortem of a worker that ended as `mode` says.
  wp::trace::Examined after(const std::string& mode) {
    const Worker worker(path("run.wpr"), mode);
    status_ = worker.wait();
    said_ = worker.said();
    return examine_file(path("run.wpr"));
  }
  static wp::trace::Examined examine_file(const std::string& file) {
    wp::trace::Flight f = wp::trace::read_flight(file);
    const wp::trace::Surroundings here = wp::trace::look_around(f);
    return wp::trace::examine(std::move(f), here);
  }
  int status_ = 0;
  std::string said_;
};

}  // namespace
