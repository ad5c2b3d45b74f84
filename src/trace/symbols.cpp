#include "trace/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.hpp"
#include "io/file.hpp"
#include "trace/lines.hpp"
#include "wellposed/error.hpp"

namespace wp::trace {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  std::free(text);
  return out;
}

}  // namespace

std::string hex(std::uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

// Segments that are loaded, and functions by address; of a 64-bit little-endian ELF file. Every offset is checked.
struct Symbols::Object {
  struct Segment {
    std::uint64_t offset, address, bytes;
  };
  struct Function {
    std::uint64_t address, size;
    std::string name;
  };
  std::vector<Segment> segments;
  std::vector<Function> functions;
  bool lines = false;  // there is a table of lines

  explicit Object(const std::string& path) try : file_(path) {
    Elf64_Ehdr h;
    if (!get(0, h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64) return;
    for (unsigned i = 0; i < h.e_phnum; ++i) {
      Elf64_Phdr p;
      if (get(h.e_phoff + std::uint64_t{i} * h.e_phentsize, p) && p.p_type == PT_LOAD)
        segments.push_back({p.p_offset, p.p_vaddr, p.p_filesz});
    }
    read_sections(h);
    std::stable_sort(functions.begin(), functions.end(),
                     [](const Function& a, const Function& b) { return a.address < b.address; });
  } catch (const Error&) {
  }

  const Function* at(std::uint64_t address) const noexcept {
    auto i = std::upper_bound(functions.begin(), functions.end(), address,
                              [](std::uint64_t a, const Function& f) { return a < f.address; });
    for (int tries = 0; i != functions.begin() && tries < 8; ++tries)
      if (--i; address - i->address < i->size || (i->size == 0 && tries == 0)) return &*i;
    return nullptr;
  }
  // The address in the file's own terms of a byte of the file; ~0: it is not loaded.
  std::uint64_t address_of(std::uint64_t offset) const noexcept {
    for (const Segment& s : segments)
      if (offset - s.offset < s.bytes) return s.address + (offset - s.offset);
    return ~std::uint64_t{0};
  }

 private:
  template <class T>
  bool get(std::uint64_t offset, T& to) const {
    if (offset > file_.size() || sizeof(T) > file_.size() - offset) return false;
    file_.read(offset, &to, sizeof(T));
    return true;
  }
  std::string part(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > file_.size() || bytes > file_.size() - offset) return {};
    std::string out(bytes, '\0');
    file_.read(offset, out.data(), bytes);
    return out;
  }
  void read_sections(const Elf64_Ehdr& h) {
    std::vector<Elf64_Shdr> sections(h.e_shnum);
    for (unsigned i = 0; i < h.e_shnum; ++i)
      if (!get(h.e_shoff + std::uint64_t{i} * h.e_shentsize, sections[i])) sections[i] = {};
    for (const std::uint32_t wanted : {SHT_SYMTAB, SHT_DYNSYM})
      for (const Elf64_Shdr& s : sections)
        if (s.sh_type == wanted && functions.empty()) read_table(h, s);
    if (h.e_shstrndx >= h.e_shnum) return;
    const std::string names = part(sections[h.e_shstrndx].sh_offset, sections[h.e_shstrndx].sh_size);
    for (const Elf64_Shdr& s : sections)
      lines |= s.sh_name < names.size() && std::strcmp(names.c_str() + s.sh_name, ".debug_line") == 0;
  }
  void read_table(const Elf64_Ehdr& h, const Elf64_Shdr& table) {
    Elf64_Shdr strings;
    if (table.sh_link >= h.e_shnum || !get(h.e_shoff + std::uint64_t{table.sh_link} * h.e_shentsize, strings)) return;
    const std::string symbols = part(table.sh_offset, table.sh_size), text = part(strings.sh_offset, strings.sh_size);
    for (std::size_t i = 0; i + sizeof(Elf64_Sym) <= symbols.size(); i += sizeof(Elf64_Sym)) {
      Elf64_Sym s;
      std::memcpy(&s, symbols.data() + i, sizeof s);
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF || s.st_name >= text.size()) continue;
      functions.push_back({s.st_value, s.st_size, text.c_str() + s.st_name});
    }
  }
  io::Source file_;
};

std::string Frame::text() const {
  const std::string file = object.substr(object.rfind('/') + 1);
  if (object.empty()) return say(hex(address), " (no object)");
  if (function.empty()) return say(file, " + ", hex(offset));
  return line.empty() ? say(function, " + ", hex(offset), " (", file, ")") : say(function, " at ", line);
}

Symbols::Symbols(const std::string& maps, double began) : began_(began) {
  for (std::size_t at = 0; at < maps.size();) {
    const std::size_t end = std::min(maps.find('\n', at), maps.size());
    const std::string line = maps.substr(at, end - at);
    at = end + 1;
    unsigned long long from = 0, to = 0, offset = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*4s %llx %*s %*s %n", &from, &to, &offset, &path) != 3 || from >= to)
      continue;
    mapped_.push_back({from, to, offset, path > 0 ? line.substr(static_cast<std::size_t>(path)) : ""});
  }
}
Symbols::~Symbols() = default;

const Symbols::Object& Symbols::object(const std::string& path) {
  auto& slot = objects_[path];
  if (slot) return *slot;
  struct stat s {};
  const bool there = path.starts_with('/') && stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
  if (there && began_ > 0 && static_cast<double>(s.st_mtime) > began_ + 1)
    remarks_.push_back(say(path, " has changed since: names of its functions may be wrong."));
  else if (!there && path.starts_with('/'))
    remarks_.push_back(say(path, " is not here: its functions have no names."));
  slot = std::make_unique<Object>(there ? path : "/dev/null");
  return *slot;
}

std::vector<Frame> Symbols::resolve(const std::vector<std::uint64_t>& addresses, Lines lines) {
  std::vector<Frame> out;
  std::vector<std::uint64_t> in_object(addresses.size(), ~std::uint64_t{0});
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    Frame f{.address = addresses[i]};
    const std::uint64_t pc = addresses[i] - (i > 0 ? 1 : 0);
    for (const Mapped& m : mapped_) {
      if (pc < m.begin || pc >= m.end) continue;
      f.object = m.path.empty() ? "anonymous memory" : m.path;
      const std::uint64_t in_file = pc - m.begin + m.offset;
      f.offset = in_file + (i > 0 ? 1 : 0);
      const Object& o = object(m.path);
      const std::uint64_t address = o.address_of(in_file);
      if (address == ~std::uint64_t{0}) break;
      in_object[i] = address;
      if (const Object::Function* const found = o.at(address)) {
        f.function = demangled(found->name);
        f.offset = address - found->address + (i > 0 ? 1 : 0);
      }
      break;
    }
    out.push_back(std::move(f));
  }
  if (lines == Lines::known) find_lines(out, in_object);
  return out;
}

void Symbols::find_lines(std::vector<Frame>& frames, const std::vector<std::uint64_t>& addresses) const {
  for (const auto& [path, object] : objects_) {
    if (!object->lines) continue;
    std::vector<std::size_t> here;
    std::vector<std::uint64_t> asked;
    for (std::size_t i = 0; i < frames.size(); ++i)
      if (frames[i].object == path && addresses[i] != ~std::uint64_t{0}) {
        here.push_back(i);
        asked.push_back(addresses[i]);
      }
    const std::vector<std::string> lines = lines_of(path, asked);
    for (std::size_t k = 0; k < here.size(); ++k) frames[here[k]].line = lines[k];
  }
}

}  // namespace wp::trace
