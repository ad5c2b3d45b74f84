// What memory readers ask for before they know that a header is true: every allocation of this program is counted.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>

#include "damage.hpp"
#include "fuzz/files.hpp"

namespace {

thread_local bool counting = false;
thread_local std::int64_t live = 0, peak = 0;

void* taken(void* block, std::size_t bytes) {
  if (counting && block) {
    live += static_cast<std::int64_t>(bytes);
    peak = std::max(peak, live);
  }
  return block;
}
void given(void* block) {
  if (counting && block) live -= static_cast<std::int64_t>(malloc_usable_size(block));
}
void* taken(void* block) {
  return taken(block, block ? malloc_usable_size(block) : 0);
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t n) noexcept {
  return taken(__libc_malloc(n));
}
void* calloc(std::size_t n, std::size_t size) noexcept {
  return taken(__libc_calloc(n, size));
}
void* realloc(void* block, std::size_t n) noexcept {
  given(block);
  return taken(__libc_realloc(block, n));
}
void* memalign(std::size_t alignment, std::size_t n) noexcept {
  return taken(__libc_memalign(alignment, n));
}
void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  return taken(__libc_memalign(alignment, n));
}
void free(void* block) noexcept {
  given(block);
  __libc_free(block);
}
// Pages of memory; pages of a file are the file's.
void* mmap(void* at, std::size_t n, int protection, int flags, int fd, off_t offset) noexcept {
  auto* const base = reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, fd, offset));
  if ((flags & MAP_ANONYMOUS) != 0 && base != MAP_FAILED) taken(base, n);
  return base;
}
}

namespace {

constexpr std::int64_t kSlack = 64 * 1024;

// The most memory that was in use while the bytes were refused; 0: they were read.
std::int64_t asked_to_refuse(const std::string& name, const std::string& bytes, bool dense = false) {
  const wp::fuzz::MemoryFile file(bytes);
  live = peak = 0;
  counting = true;
  bool refused = false;
  try {
    const wp::io::Source source(file.path());
    (void)wp::io::format_of(name)->read_all(source, {.copy = true, .dense = dense});
  } catch (const wp::FormatError&) {
    refused = true;
  }
  counting = false;
  return refused ? std::max<std::int64_t>(peak, 1) : 0;
}

// Pools take their memory once, whoever asks first.
void fill_pools() {
  for (std::size_t bytes = wp::memory::kStep; bytes <= wp::memory::kSmall; bytes += wp::memory::kStep)
    wp::memory::release(wp::memory::allocate(bytes), bytes);
  wp::memory::trim();
}

class Asked : public Files {
 protected:
  void SetUp() override {
    Files::SetUp();
    fill_pools();
    for (const char* name : {"x.npy", "x.npz", "x.mtx", "x.safetensors"}) (void)asked_to_refuse(name, "x");
  }
};

TEST_F(Asked, IsCountedAtAll) {
  const std::string large(1 << 20, 'x');  // a text of a MiB is read whole before it is refused
  EXPECT_GE(asked_to_refuse("t.mtx", large), 1 << 20);
  EXPECT_EQ(asked_to_refuse("t.npy", npy("|u1", false, "(3,)", "abc")), 0);
}

TEST_F(Asked, NoRefusalCostsMoreThanTheFileAnd64KiB) {
  const fs::path corpus = fs::path(WP_SOURCE_TREE) / "tests/fuzz/corpus";
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(corpus)) {
    const std::string ending = entry.path().extension().string(), bytes = read(entry.path().string());
    if (ending == ".csv" || ending == ".tsv" || bytes.size() > 1000) continue;  // text has no header that promises
    const auto attempt = [&](const std::string& damaged, const std::string& what) {
      const std::int64_t asked = asked_to_refuse("t" + ending, damaged);
      refused += asked > 0;
      EXPECT_LE(asked, static_cast<std::int64_t>(damaged.size()) + kSlack) << entry.path().filename() << ' ' << what;
    };
    attempt(bytes, "as it is");
    each_damage(bytes, attempt);
  }
  EXPECT_GT(refused, 10000);
}

TEST_F(Asked, NothingOfWhatALyingHeaderPromises) {
  const auto le = [](std::uint64_t v, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i, v >>= 8) out += static_cast<char>(v & 0xff);
    return out;
  };
  const std::string array = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1000000000],\"data_offsets\":[0,4000000000]}}";
  const std::string many =
      std::string("PK\5\6") + le(0, 4) + le(0xfffe, 2) + le(0xfffe, 2) + le(46, 4) + le(0, 4) + le(0, 2);
  const std::vector<std::pair<std::string, std::string>> files{
      {"w.npy", npy("<f8", false, "(65536, 65536)", "12345678")},
      {"h.npy", std::string("\x93NUMPY\2\0", 8) + le(0xfffffff0U, 4) + "{}"},
      {"l.safetensors", le(std::uint64_t{1} << 40, 8) + "{}"},
      {"a.safetensors", le(array.size(), 8) + array},
      {"e.npz", std::string(46, '\0') + many},
      {"d.mtx", "%%MatrixMarket matrix array real general\n100000 100000\n1\n"},
      {"c.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 1000000000\n1 1 1\n"},
      {"r.mtx", "%%MatrixMarket matrix coordinate real general\n1000000000 5 1\n1 1 1\n"},
  };
  for (const auto& [name, bytes] : files) {
    const std::int64_t asked = asked_to_refuse(name, bytes);
    EXPECT_GT(asked, 0) << name << " was read";
    EXPECT_LE(asked, static_cast<std::int64_t>(bytes.size()) + kSlack) << name;
  }
}

TEST_F(Asked, NothingOfTheDenseMatrixThatASparseHeaderPromises) {
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  for (const std::string text :
       {"100000000 2 1\n1 1 5\n", "9000000000 9000000000 1\n1 1 5\n", "1000000 20 2\n1 1 5\n1 21 5\n"}) {
    const std::int64_t asked = asked_to_refuse("q.mtx", banner + text, true);
    EXPECT_GT(asked, 0) << text << " was read";
    EXPECT_LE(asked, static_cast<std::int64_t>(banner.size() + text.size()) + kSlack) << text;
  }
}

// What is kept of an array or of a text is bounded by the header that names it, and by their number.
TEST_F(Asked, AFewTimesTheHeaderOfManyArraysThatLie) {
  std::string arrays = "{", texts = "{\"__metadata__\":{";
  for (int i = 0; i < 200000; ++i)
    arrays += (i ? "," : "") + std::string("\"") + std::to_string(i) +
              "\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[5,6]}";
  for (int i = 0; i < 2000000; ++i) texts += (i ? ",\"" : "\"") + std::to_string(i) + "\":\"\"";
  for (const std::string& header : {arrays + "}", texts + "}}"}) {
    std::string length(8, '\0');
    const std::uint64_t bytes = header.size();
    std::memcpy(length.data(), &bytes, 8);
    const std::int64_t asked = asked_to_refuse("m.safetensors", length + header);
    EXPECT_GT(asked, 0) << "was read";
    EXPECT_LE(asked, 4 * static_cast<std::int64_t>(header.size())) << header.substr(0, 60);
  }
  const auto le = [](std::uint64_t v, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i, v >>= 8) out += static_cast<char>(v & 0xff);
    return out;
  };
  constexpr std::uint64_t count = 60000;
  std::string zip;
  for (std::uint64_t i = 0; i < count; ++i) zip += "PK\1\2" + std::string(42, '\0');
  zip += "PK\5\6" + le(0, 4) + le(count, 2) + le(count, 2) + le(46 * count, 4) + le(0, 4) + le(0, 2);
  const std::int64_t asked = asked_to_refuse("m.npz", zip);
  EXPECT_GT(asked, 0) << "was read";
  EXPECT_LE(asked, 4 * static_cast<std::int64_t>(zip.size()));
}

}  // namespace
