// Memory that somebody else may write to: lent to wellposed, or lent out by it.
#pragma once
#include <map>
#include <unordered_set>

#include "ops/dispatch.hpp"

namespace wp::autodiff {

inline bool is_borrowed(const Tensor& t) noexcept {
  const detail::Node* const n = t.node();
  return n->borrowed || (n->owner && n->owner->borrowed);
}
inline constexpr std::size_t kCopied = 1 << 16;  // bytes of borrowed memory that are copied rather than summed up
Tensor contiguous_copy(const Tensor& t);
// Each step of it is a bijection: a change of one word is always seen.
std::size_t checksum(const Tensor& t);
// t is lent out: from now on it counts as borrowed, and what others kept of it before can be compared with what it
// was.
void lend_out(const Tensor& t);
// Whether memory has been changed since it was lent out; false if it was not, or if nobody else kept it then.
bool changed_since_lent(const Tensor& t);
// A copy of borrowed memory that is small, as the same variable; else t itself.
Tensor own_if_small(const Tensor& t);
// facts: "f64 [3]".
[[noreturn]] void refuse_changed(std::string_view reader, const std::string& facts);

// The borrowed memory that a function of the caller's reads, and its checksums: what it captured no tape can copy.
class Readings : public Observer {
 public:
  void after(Call& c) override;
  bool keeps() const noexcept override { return false; }
  void note(const Tensor& t);
  struct Noted {
    Tensor tensor;
    std::size_t sum;
  };
  const std::map<std::pair<const char*, std::size_t>, Noted>& all() const noexcept { return all_; }

 private:
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;                  // threads may share a context
  std::map<std::pair<const char*, std::size_t>, Noted> all_;  // by first byte and length
};

// Listens while it lives, also inside of functions of the caller's, which tapes do not see.
class [[nodiscard]] ListenInside {
 public:
  explicit ListenInside(Observer& o);
  ~ListenInside();
  ListenInside(const ListenInside&) = delete;
  ListenInside& operator=(const ListenInside&) = delete;

 private:
  ListenInside* const outer_;
  Observer& observer_;
  std::vector<Listener*> listeners_;
};

// Refuses memory that was noted and has been changed since, when it is read again.
class Rereading : public Observer {
 public:
  Rereading(const Readings& before, std::string_view reader) : before_(before), reader_(reader) {}
  void after(Call& c) override;
  bool keeps() const noexcept override { return false; }

 private:
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  const Readings& before_;
  std::string_view reader_;
  std::unordered_set<const Readings::Noted*> same_;
};

}  // namespace wp::autodiff
