// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/creation.hpp"

namespace wp {

extern const Op op_arange;
extern const Op op_empty;
extern const Op op_empty_like;
extern const Op op_eye;
extern const Op op_fft_fftfreq;
extern const Op op_fft_rfftfreq;
extern const Op op_full;
extern const Op op_full_like;
extern const Op op_linspace;
extern const Op op_meshgrid;
extern const Op op_ones;
extern const Op op_ones_like;
extern const Op op_zeros;
extern const Op op_zeros_like;

Tensor arange(const Scalar& start, const ArangeOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(start), Attr(options.stop), Attr(options.step), Attr(options.dtype)};
  return call1(op_arange, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor empty(const Ints& shape, const EmptyOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(options.dtype)};
  return call1(op_empty, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor empty_like(const In& x, const EmptyLikeOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.dtype)};
  return call1(op_empty_like, Inputs(in), attrs, Place(where));
}

Tensor eye(std::int64_t n_rows, const EyeOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(n_rows), Attr(options.n_cols), Attr(options.k), Attr(options.dtype)};
  return call1(op_eye, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor full(const Ints& shape, const Scalar& fill_value, const FullOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(fill_value), Attr(options.dtype)};
  return call1(op_full, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor full_like(const In& x, const Scalar& fill_value, const FullLikeOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(fill_value), Attr(options.dtype)};
  return call1(op_full_like, Inputs(in), attrs, Place(where));
}

Tensor linspace(const Scalar& start, const Scalar& stop, std::int64_t num, const LinspaceOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(start), Attr(stop), Attr(num), Attr(options.dtype), Attr(options.endpoint)};
  return call1(op_linspace, Inputs(nullptr, 0), attrs, Place(where));
}

Tensors meshgrid(const Tensors& arrays, const MeshgridOptions& options, std::source_location where) {
  SmallVector<const Tensor*, 8> in;
  for (const Tensor& t : arrays) in.push_back(&t);
  const Attr attrs[] = {Attr(options.indexing)};
  return call(op_meshgrid, Inputs(in.data(), in.size()), attrs, Place(where));
}

Tensor ones(const Ints& shape, const OnesOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(options.dtype)};
  return call1(op_ones, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor ones_like(const In& x, const OnesLikeOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.dtype)};
  return call1(op_ones_like, Inputs(in), attrs, Place(where));
}

Tensor zeros(const Ints& shape, const ZerosOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(options.dtype)};
  return call1(op_zeros, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor zeros_like(const In& x, const ZerosLikeOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.dtype)};
  return call1(op_zeros_like, Inputs(in), attrs, Place(where));
}

namespace fft {
Tensor fftfreq(std::int64_t n, const FftfreqOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(n), Attr(options.d), Attr(options.dtype)};
  return call1(op_fft_fftfreq, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor rfftfreq(std::int64_t n, const RfftfreqOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(n), Attr(options.d), Attr(options.dtype)};
  return call1(op_fft_rfftfreq, Inputs(nullptr, 0), attrs, Place(where));
}
}  // namespace fft

}  // namespace wp
