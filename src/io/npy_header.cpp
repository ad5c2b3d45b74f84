// The header of .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <algorithm>
#include <array>
#include <cstring>

#include "io/npy.hpp"

namespace wp::io {
namespace {

constexpr std::size_t kMaxAxes = 64;  // NumPy's own limit

struct Code {
  std::string_view code;
  DType dtype;
};
constexpr std::array<Code, 14> codes{{{"b1", DType::boolean},
                                      {"i1", i8},
                                      {"i2", i16},
                                      {"i4", i32},
                                      {"i8", i64},
                                      {"u1", u8},
                                      {"u2", u16},
                                      {"u4", u32},
                                      {"u8", u64},
                                      {"f2", f16},
                                      {"f4", f32},
                                      {"f8", f64},
                                      {"c8", c64},
                                      {"c16", c128}}};

// Why a dtype code that NumPy has is not read.
std::string_view why_not(std::string_view code) {
  if (code.empty()) return "it is empty";
  switch (code[0]) {
    case 'O': return "it holds Python objects as a pickle, and reading one would run code of the file";
    case 'S':
    case 'a':
    case 'U': return "it holds text; tensors hold numbers";
    case 'M':
    case 'm': return "it holds dates or durations; save them as integers (view('i8'))";
    case 'V': return "it holds raw records; save each field as a number";
    case 'f':
    case 'g': return "only 2, 4 and 8 byte floats are read; save it with astype('f8')";
    case 'c':
    case 'G': return "only 8 and 16 byte complex numbers are read; save it with astype('c16')";
    default: return "no such dtype is known";
  }
}

// A parser for the part of Python's literals that headers use. `base` is the file offset of the text.
class Literal {
 public:
  Literal(const Part& source, std::string_view text, std::uint64_t base)
      : source_(source), text_(text), base_(base) {}

  Stored dictionary() {
    Stored h;
    unsigned seen = 0;
    expect('{', "the header must be a Python dict");
    while (!accept('}')) {
      const std::size_t key_at = skip();
      const std::string_view key = string("a key");
      expect(':', "a key must be followed by ':'");
      const unsigned bit = key == "descr" ? 1U : key == "fortran_order" ? 2U : key == "shape" ? 4U : 0U;
      if (!bit) bad(key_at, say("unknown key '", excerpt(key), "'; a header has descr, fortran_order and shape"));
      if (seen & bit) bad(key_at, say("key '", key, "' stands twice"));
      seen |= bit;
      if (bit == 1) descr(h);
      if (bit == 2) h.fortran = boolean();
      if (bit == 4) h.shape = tuple();
      if (!accept(',')) {
        expect('}', "the dict must go on with ',' or end with '}'");
        break;
      }
    }
    for (const auto& [bit, key] : {std::pair{1U, "descr"}, {2U, "fortran_order"}, {4U, "shape"}})
      if (!(seen & bit)) bad(0, say("the header has no '", key, "'"));
    if (skip() != text_.size()) bad(at_, "text follows the dict");
    return h;
  }

 private:
  [[noreturn]] void bad(std::size_t at, std::string_view reason, std::string_view code = "WP-FMT-002") const {
    source_.refuse_at(code, base_ + at, say("bad npy header: ", reason, "."));
  }
  std::size_t skip() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    return at_;
  }
  bool accept(char c) {
    if (skip() == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, std::string_view rule) {
    if (accept(c)) return;
    bad(at_, say(rule, "; found '", excerpt(text_.substr(at_, 16)), "'"));
  }
  std::string_view string(std::string_view what) {
    const std::size_t start = skip();
    const char quote = start < text_.size() ? text_[start] : '\0';
    if (quote != '\'' && quote != '"')
      bad(start, say(what, " must be a string; found '", excerpt(text_.substr(start, 16)), "'"));
    const std::size_t end = text_.find(quote, start + 1);
    if (end == std::string_view::npos) bad(start, "a string does not end");
    at_ = end + 1;
    return text_.substr(start + 1, end - start - 1);
  }
  bool boolean() {
    const std::size_t start = skip();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}})
      if (text_.substr(start).starts_with(word)) {
        at_ = start + word.size();
        return value;
      }
    bad(start, say("fortran_order must be True or False; found '", excerpt(text_.substr(start, 16)), "'"));
  }
  std::int64_t length() {
    const std::size_t start = skip();
    if (start < text_.size() && text_[start] == '-') bad(start, "a shape has no negative lengths");
    std::int64_t n = 0;
    bool fits = true;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      fits = fits && !__builtin_mul_overflow(n, std::int64_t{10}, &n) &&
             !__builtin_add_overflow(n, std::int64_t{text_[at_] - '0'}, &n);
    if (at_ == start)
      bad(start, say("a length must be a whole number; found '", excerpt(text_.substr(start, 16)), "'"));
    if (text_[start] == '0' && at_ > start + 1) bad(start, "a length does not begin with 0");
    if (!fits) bad(start, say("length ", excerpt(text_.substr(start, at_ - start)), " is beyond 2^63 - 1"));
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return n;
  }
  Dims tuple() {
    Dims shape;
    const std::size_t start = skip();
    expect('(', "shape must be a tuple");
    while (!accept(')')) {
      if (shape.size() == kMaxAxes) bad(start, say("the shape has more than ", kMaxAxes, " axes"));
      shape.push_back(length());
      if (accept(',')) continue;
      expect(')', "a tuple must go on with ',' or end with ')'");
      if (shape.size() == 1) bad(start, "a tuple of one length is written (n,)");
      break;
    }
    return shape;
  }
  void descr(Stored& h) {
    const std::size_t start = skip();
    if (start < text_.size() && (text_[start] == '[' || text_[start] == '('))
      bad(start, "the dtype is a record of several fields; save each field as its own array", "WP-FMT-004");
    const std::string_view text = string("descr");
    std::string_view code = text;
    char order = '=';
    if (!code.empty() && std::strchr("<>|=", code[0])) {
      order = code[0];
      code.remove_prefix(1);
    }
    for (const Code& c : codes)
      if (c.code == code) {
        if (order == '|' && size_of(c.dtype) > 1)
          bad(start, say("dtype '", text, "' has elements of several bytes but no byte order"));
        h.dtype = c.dtype;
        h.big_endian = order == '>' && size_of(c.dtype) > 1;
        return;
      }
    bad(start, say("dtype '", excerpt(text), "' cannot be read: ", why_not(code)), "WP-FMT-004");
  }

  const Part& source_;
  std::string_view text_;
  std::uint64_t base_;
  std::size_t at_ = 0;
};

[[noreturn]] void wrong_size(const Part& s, const Stored& h, std::string promised, bool more) {
  std::string holds = bytes_text(static_cast<double>(s.size()));
  if (holds == promised) {
    promised = say(h.data + h.bytes, " bytes");
    holds = say(s.size(), " bytes");
  }
  const std::string where = say(" (", h.dtype, " ", h.shape, " from byte ", h.data, ")");
  if (more)
    refuse<FormatError>(
        "WP-FMT-003",
        say(s.title(), " promises ", promised, " but holds ", holds, ": ", s.size() - h.data - h.bytes,
            " bytes follow the array", where, "."),
        "Several arrays in one file are not read, nor is a file whose header lies. Nothing was read.");
  refuse<FormatError>(
      "WP-FMT-003",
      say(s.title(), " promises ", promised, " but holds ", holds, ": truncated or not an npy file", where, "."),
      "Nothing was read.");
}

void check_size(const Part& s, Stored& h) {
  if (!bytes_of(h.dtype, h.shape, h.bytes)) wrong_size(s, h, "more than 4 EiB", false);
  if (h.bytes == s.size() - h.data) return;
  wrong_size(s, h, bytes_text(static_cast<double>(h.data + h.bytes)), h.bytes < s.size() - h.data);
}

}  // namespace

Stored read_npy_header(const Part& s) {
  unsigned char head[12] = {};
  const std::size_t have = std::min<std::size_t>(sizeof head, s.size());
  s.read(0, head, have);
  const std::string_view start(reinterpret_cast<const char*>(head), have);
  const std::size_t magic = std::min(have, npy_magic.size());
  if (have == 0) s.refuse_at("WP-FMT-003", 0, "the file is empty, not an npy file.");
  if (start.substr(0, magic) != npy_magic.substr(0, magic))
    s.refuse_at("WP-FMT-001", 0,
                say("not an npy file: it begins with '", excerpt(start.substr(0, 8)), "', not with \\x93NUMPY."));
  if (have < 10)
    s.refuse_at("WP-FMT-003", have, "the file ends inside the first 10 bytes of an npy header: truncated.");
  const unsigned major = head[6], minor = head[7];
  if (major < 1 || major > 3 || minor != 0)
    s.refuse_at("WP-FMT-002", 6,
                say("npy version ", major, ".", minor, " is not known; versions 1.0, 2.0 and 3.0 are read."));
  if (major > 1 && have < 12)
    s.refuse_at("WP-FMT-003", have, "the file ends inside the first 12 bytes of an npy header: truncated.");
  std::uint64_t length = head[8] | static_cast<unsigned>(head[9]) << 8;
  if (major > 1) length |= static_cast<std::uint64_t>(head[10]) << 16 | static_cast<std::uint64_t>(head[11]) << 24;
  const std::uint64_t base = major > 1 ? 12 : 10;
  if (length > s.size() - base)
    s.refuse_at("WP-FMT-003", 8,
                say("the header is said to have ", length, " bytes, but only ", s.size() - base,
                    " follow: truncated or not an npy file."));
  std::string text(static_cast<std::size_t>(length), '\0');
  s.read(base, text.data(), text.size());
  Stored h = Literal(s, text, base).dictionary();
  h.data = base + length;
  check_size(s, h);
  h.data += s.base();
  return h;
}

std::string npy_header(DType dtype, const Dims& shape, std::size_t least) {
  std::string_view code;
  for (const Code& c : codes)
    if (c.dtype == dtype) code = c.code;
  if (code.empty())
    refuse<DtypeError>("WP-DTY-001", say("npy has no dtype for ", dtype, " ", shape, "."),
                       "Save it as f32, which holds every bf16 exactly: astype(x, f32).");
  std::string text =
      say("{'descr': '", size_of(dtype) == 1 ? '|' : '<', code, "', 'fortran_order': False, 'shape': (");
  for (std::size_t k = 0; k < shape.size(); ++k) text += say(k ? ", " : "", shape[k]);
  text += shape.size() == 1 ? ",), }" : "), }";
  const bool large = text.size() + 128 > 0xffff;
  const std::size_t base = large ? 12 : 10;
  text.append(63 - (base + text.size()) % 64, ' ');
  if (base + text.size() + 1 < least) text.append(least - base - text.size() - 1, ' ');
  text += '\n';
  std::string out(npy_magic);
  out += large ? '\2' : '\1';
  out += '\0';
  for (std::size_t i = 0; i < base - 8; ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return out + text;
}

}  // namespace wp::io
