#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/memory.hpp"

namespace wp::io {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 30;  // read and write take at most 2 GiB at once

std::string reason(int error) {
  return std::string(strerrordesc_np(error) ? strerrordesc_np(error) : "unknown error");
}

[[noreturn]] void no_file(const std::string& path, std::string_view what, int error) {
  std::string advice;
  if (error == ENOENT) advice = "Check the name and the directory.";
  if (error == EACCES || error == EPERM || error == EROFS) advice = "Check the permissions.";
  refuse<FileError>("WP-FIL-001", say("'", path, "' cannot be ", what, ": ", reason(error), "."), advice);
}

}  // namespace

void write_text(const std::string& path, std::string_view text) {
  Sink sink(path);
  sink.write(text);
  sink.commit();
}

std::string excerpt(std::string_view bytes, std::size_t limit) {
  std::string out;
  for (const char c : bytes.substr(0, limit)) {
    if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return bytes.size() > limit ? out + "…" : out;
}

Source::Source(const std::string& path) : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) no_file(path_, "opened", errno);
  struct stat info {};
  try {
    if (fstat(fd_, &info) != 0) no_file(path_, "read", errno);
    if (S_ISDIR(info.st_mode)) no_file(path_, "read", EISDIR);
    if (S_ISREG(info.st_mode))
      size_ = static_cast<std::uint64_t>(info.st_size);
    else
      read_stream();
  } catch (...) {
    if (memory_) memory::release(memory_, capacity_);
    close(fd_);
    throw;
  }
}

Source::~Source() {
  if (memory_) memory::release(memory_, capacity_);
  close(fd_);
}

void Source::read_stream() {
  for (;;) {
    if (size_ == capacity_) {
      const std::size_t larger = std::max<std::size_t>(capacity_ * 2, 64 * 1024);
      auto* const fresh = static_cast<char*>(memory::allocate(larger));  // refuses what the machine does not have
      if (memory_) {
        std::memcpy(fresh, memory_, capacity_);
        memory::release(memory_, capacity_);
      }
      memory_ = fresh;
      capacity_ = larger;
    }
    const ssize_t got = ::read(fd_, memory_ + size_, std::min(capacity_ - size_, kChunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) no_file(path_, "read", errno);
    if (got == 0) return;
    size_ += static_cast<std::uint64_t>(got);
  }
}

std::string Source::text() const {
  std::string out(size_, '\0');
  read(0, out.data(), out.size());
  return out;
}

void Source::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  if (memory_) {
    std::memcpy(to, memory_ + offset, bytes);
    return;
  }
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const ssize_t got = pread(fd_, at, std::min(bytes, kChunk), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) no_file(path_, "read", errno);
    if (got == 0)
      refuse<FileError>("WP-FIL-001", say("'", path_, "' became shorter while it was read: it ends at byte ", offset,
                                          ", it had ", size_, " bytes."));
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

Source::Mapping Source::map() const {
  if (memory_ || size_ == 0) return {};
  const auto bytes = static_cast<std::size_t>(size_);
  void* const base = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (base == MAP_FAILED) return {};
  return {static_cast<char*>(base), [base, bytes] { munmap(base, bytes); }};
}

void Source::refuse_at(std::string_view code, std::uint64_t offset, std::string_view why,
                       std::string_view advice) const {
  refuse<FormatError>(code, say("'", path_, "' at byte ", offset, ": ", why),
                      say(advice, advice.empty() ? "" : " ", "Nothing was read."));
}

std::string Part::title() const {
  return entry_.empty() ? say("'", source_.path(), "'")
                        : say("'", source_.path(), "', entry '", excerpt(entry_), "',");
}

void Part::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  if (!packed_) {
    source_.read(base_ + offset, to, bytes);
  } else {
    if (offset + bytes > head_.size())
      refuse_at("WP-FMT-002", offset, say("the header has more than ", head_.size(), " bytes."));
    std::memcpy(to, head_.data() + offset, bytes);
  }
}

void Part::refuse_at(std::string_view code, std::uint64_t offset, std::string_view why,
                     std::string_view advice) const {
  const std::string entry = entry_.empty() ? "" : say("entry '", excerpt(entry_), "': ");
  const std::string inside = packed_ ? say("unpacked byte ", offset, ": ") : "";
  source_.refuse_at(code, base_ + (packed_ ? 0 : offset), say(entry, inside, why), advice);
}

Sink::Sink(const std::string& path) : path_(path), target_(path) {
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) no_file(path_, "written", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) no_file(path_, "written", errno);
    return;
  }
  if (exists)  // through links: the file changes, the link stays
    if (char* const real = realpath(path.c_str(), nullptr)) {
      target_ = real;
      std::free(real);
    }
  const std::size_t slash = target_.rfind('/');
  directory_ = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? target_ : target_.substr(slash + 1);
  if (name.empty()) no_file(path_, "written", EISDIR);
  static std::atomic<unsigned> count{0};
  const std::string prefix = slash == std::string::npos ? "" : directory_;
  do {
    temporary_ = say(prefix, '.', name.substr(0, 200), '.', getpid(), '-', count.fetch_add(1), ".tmp");
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) {
    const int error = errno;
    temporary_.clear();
    no_file(path_, "written", error);
  }
  if (exists && fchmod(fd_, info.st_mode & 07777) != 0) errno = 0;  // of a file system without modes
}

Sink::~Sink() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void Sink::fail(const char* what, int error) const {
  std::string advice = temporary_.empty() ? "" : "Nothing was changed.";
  struct statvfs disk {};
  if ((error == ENOSPC || error == EDQUOT) && !directory_.empty() && statvfs(directory_.c_str(), &disk) == 0)
    advice = say("After ", bytes_text(static_cast<double>(written_)), ", ",
                 bytes_text(static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize)),
                 " are left in '", directory_, "'. Free some space, or write elsewhere. ", advice);
  refuse<FileError>("WP-FIL-001", say("'", path_, "' cannot be ", what, ": ", reason(error), "."), advice);
}

void Sink::write(const void* data, std::size_t bytes) {
  for (const auto* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t put = ::write(fd_, at, std::min(bytes, kChunk));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("written", errno);
    at += put;
    bytes -= static_cast<std::size_t>(put);
    written_ += static_cast<std::uint64_t>(put);
  }
}

void Sink::rewrite(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
}

void Sink::commit() {
  if (fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) fail("flushed", errno);  // EINVAL: a pipe
  const int closed = close(fd_);
  fd_ = -1;
  if (closed != 0) fail("written", errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail("replaced", errno);
  temporary_.clear();
  // The directory's entry too; a file system that cannot flush a directory has done what it can.
  const int directory = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
}

}  // namespace wp::io
