// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/fourier_transform.hpp"

namespace wp {

extern const Op op_fft_fft;
extern const Op op_fft_fftn;
extern const Op op_fft_fftshift;
extern const Op op_fft_hfft;
extern const Op op_fft_ifft;
extern const Op op_fft_ifftn;
extern const Op op_fft_ifftshift;
extern const Op op_fft_ihfft;
extern const Op op_fft_irfft;
extern const Op op_fft_irfftn;
extern const Op op_fft_rfft;
extern const Op op_fft_rfftn;

namespace fft {
Tensor fft(const In& x, const FftOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.n), Attr(options.axis), Attr(options.norm)};
  return call1(op_fft_fft, Inputs(in), attrs, Place(where));
}

Tensor fftn(const In& x, const FftnOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.s ? Attr(*options.s) : Attr()), (options.axes ? Attr(*options.axes) : Attr()), Attr(options.norm)};
  return call1(op_fft_fftn, Inputs(in), attrs, Place(where));
}

Tensor fftshift(const In& x, const FftshiftOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axes ? Attr(*options.axes) : Attr())};
  return call1(op_fft_fftshift, Inputs(in), attrs, Place(where));
}

Tensor hfft(const In& x, const HfftOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.n), Attr(options.axis), Attr(options.norm)};
  return call1(op_fft_hfft, Inputs(in), attrs, Place(where));
}

Tensor ifft(const In& x, const IfftOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.n), Attr(options.axis), Attr(options.norm)};
  return call1(op_fft_ifft, Inputs(in), attrs, Place(where));
}

Tensor ifftn(const In& x, const IfftnOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.s ? Attr(*options.s) : Attr()), (options.axes ? Attr(*options.axes) : Attr()), Attr(options.norm)};
  return call1(op_fft_ifftn, Inputs(in), attrs, Place(where));
}

Tensor ifftshift(const In& x, const IfftshiftOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.axes ? Attr(*options.axes) : Attr())};
  return call1(op_fft_ifftshift, Inputs(in), attrs, Place(where));
}

Tensor ihfft(const In& x, const IhfftOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.n), Attr(options.axis), Attr(options.norm)};
  return call1(op_fft_ihfft, Inputs(in), attrs, Place(where));
}

Tensor irfft(const In& x, const IrfftOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.n), Attr(options.axis), Attr(options.norm)};
  return call1(op_fft_irfft, Inputs(in), attrs, Place(where));
}

Tensor irfftn(const In& x, const IrfftnOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.s ? Attr(*options.s) : Attr()), (options.axes ? Attr(*options.axes) : Attr()), Attr(options.norm)};
  return call1(op_fft_irfftn, Inputs(in), attrs, Place(where));
}

Tensor rfft(const In& x, const RfftOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(options.n), Attr(options.axis), Attr(options.norm)};
  return call1(op_fft_rfft, Inputs(in), attrs, Place(where));
}

Tensor rfftn(const In& x, const RfftnOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {(options.s ? Attr(*options.s) : Attr()), (options.axes ? Attr(*options.axes) : Attr()), Attr(options.norm)};
  return call1(op_fft_rfftn, Inputs(in), attrs, Place(where));
}
}  // namespace fft

}  // namespace wp
