// The kinds of recurrent cells and their equations, without LibTorch, for the kernels.
#pragma once

namespace attend {

// Cells with input x, state h and next state h', which is the output; each gate has its own W, U and biases:
//   lstm  i, f, o = σ(W x + U h + b),  g = tanh(W x + U h + b),  c' = f c + i g,  h' = o tanh(c')
//         (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000)
//   gru   r, z = σ(W x + U h + b),  n = tanh(W x + b + r (U h + b)),  h' = (1 - z) n + z h
//         (Cho et al. 2014, arXiv 1406.1078, with the reset gate after the product, as in cuDNN)
//   tanh  h' = tanh(W x + U h + b)  (Elman 1990)
enum class CellKind { lstm, gru, tanh };

}  // namespace attend
