// No value twice, no row twice. Memory is bounded: after 2²⁰ different ones, later ones are compared with those only.
#include <bit>
#include <optional>

#include "data/rule.hpp"
#include "simd/philox.hpp"

namespace wp::data {
namespace {

struct Key {
  std::uint64_t a = 0, b = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

// Equal numbers have equal keys, whatever their dtype: the bits of a double where one holds the number.
template <class T>
std::uint64_t bits_of(T v, std::uint64_t& tag) {
  const auto d = static_cast<double>(v);
  tag = 0;
  if constexpr (std::is_integral_v<T>)
    if (static_cast<Exact>(d) != static_cast<Exact>(v))
      return tag = 1 + std::is_signed_v<T>, static_cast<std::uint64_t>(v);
  if (d != d) return ~std::uint64_t{0};
  return d == 0 ? 0 : std::bit_cast<std::uint64_t>(d);
}

// Open addressing; the place of the first one is kept.
class Seen {
 public:
  static constexpr std::size_t kMost = 1 << 20;
  // The place of an equal one before it; nothing: it is new.
  std::optional<std::int64_t> put(const Key& key, std::int64_t at) {
    if (2 * count_ >= slots_.size() && count_ < kMost) grow();
    std::size_t i = hash(key) & (slots_.size() - 1);
    for (; slots_[i].at >= 0; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].key == key) return slots_[i].at;
    if (count_ == kMost) return full_ = true, std::nullopt;
    slots_[i] = {key, at};
    ++count_;
    return std::nullopt;
  }
  bool full() const noexcept { return full_; }

 private:
  struct Slot {
    Key key;
    std::int64_t at = -1;
  };
  static std::size_t hash(const Key& k) { return simd::philox_block(0x9E3779B97F4A7C15, k.a, k.b).low(); }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(1024, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& s : old) {
      if (s.at < 0) continue;
      std::size_t i = hash(s.key) & (slots_.size() - 1);
      while (slots_[i].at >= 0) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = s;
    }
  }
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
  bool full_ = false;
};

class Unique final : public Check {
 public:
  Unique(bool rows, const Subject& s) : rows_(rows), all_(s.keep) {}
  struct Keys : Partial {
    std::int64_t start = 0;
    std::vector<Key> keys;
    std::vector<bool> skip;
  };
  std::unique_ptr<Partial> look(const Subject& s, const Tile& t) const override {
    auto out = std::make_unique<Keys>();
    out->start = t.start;
    out->keys.resize(static_cast<std::size_t>(t.n));
    out->skip.resize(static_cast<std::size_t>(t.n));
    each(t, [&](std::int64_t i, auto v) {
      Key& k = out->keys[static_cast<std::size_t>(i)];
      k.a = bits_of(v, k.b);
      out->skip[static_cast<std::size_t>(i)] = s.missing && is_nan(v);
    });
    each_complex(t, [&](std::int64_t i, auto re, auto im) {
      std::uint64_t none;
      out->keys[static_cast<std::size_t>(i)] = {bits_of(re, none), bits_of(im, none)};
      out->skip[static_cast<std::size_t>(i)] = s.missing && (is_nan(re) || is_nan(im));
    });
    return out;
  }
  void join(const Subject& s, std::unique_ptr<Partial> p) override {
    const auto& part = static_cast<const Keys&>(*p);
    for (std::size_t i = 0; i < part.keys.size(); ++i) {
      const std::int64_t at = part.start + static_cast<std::int64_t>(i);
      if (rows_)
        see_in_row(s, part.keys[i], at);
      else if (!part.skip[i])
        see(s, part.keys[i], at);
    }
  }
  void finish(const Subject& s, const Facts& f, RuleReport& r) override {
    const std::int64_t rows = s.shape.empty() ? 1 : s.shape[0];
    tell(s, all_, Unit::value, rows_ ? rows : f.census.values - (s.missing ? f.census.nans : 0), r);
    if (rows_) {
      r.unit = "row";
      for (auto* list : {&r.first, &r.worst})
        for (Offender& o : *list) o.index = {o.row};
      if (!r.first.empty())
        r.message = say("row ", r.first[0].row, ' ', r.first[0].why, "; ", r.failed, " of ", plural(rows, "row"));
      r.note = "rows are compared by 128 bits of hash";
    }
    if (seen_.full())
      r.note += say(r.note.empty() ? "" : "; ", "of the different ones the first ", Seen::kMost,
                    " were kept: later ones were compared with those only");
  }

 private:
  void see(const Subject& s, const Key& key, std::int64_t at) {
    if (const auto before = seen_.put(key, at))
      all_.add(at, 0, [&] {
        const std::string where = rows_ ? say("row ", *before / s.width) : say("element ", s.index(*before));
        const double v = key.b ? 0 : std::bit_cast<double>(key.a);
        std::string value = rows_ || is_complex(s.dtype) ? std::string()
                            : key.b == 2                 ? say(static_cast<std::int64_t>(key.a))
                            : key.b == 1                 ? say(key.a)
                                                         : say(v);
        return std::pair(std::move(value), say("is the same as ", where));
      });
  }
  // Two chains of Philox over the elements of a row: 128 bits.
  void see_in_row(const Subject& s, const Key& key, std::int64_t at) {
    const simd::Block b = simd::philox_block(row_.a ^ key.b, row_.b, key.a);
    row_ = {b.low(), b.high()};
    if ((at + 1) % s.width) return;
    see(s, row_, at - s.width + 1);
    row_ = {};
  }

  bool rows_;
  Seen seen_;
  Key row_;
  Offences all_;
};

std::unique_ptr<Check> check_unique(const SchemaValue& v, const Subject& s) {
  if (v.is_boolean() && !v.boolean()) return nullptr;
  return std::make_unique<Unique>(v.is_text(), s);
}

constexpr Rule table[] = {
    {"unique", &forms::uniqueness, "WP-VAL-006", kinds::any, true, tiles, "true",
     "No value comes twice; \"rows\": no entry of the first axis does. Exact for 1,048,576 different ones; the "
     "report says when there "
     "were more.",
     check_unique},
};

}  // namespace

std::span<const Rule> unique_rules() {
  return table;
}

}  // namespace wp::data
