// Looks over a SentencePiece model before the library reads it: the packaged 0.1.97 trusts what it loads
// (CVE-2026-1260, and reads out of bounds through a crafted table of normalisation or deeply nested symbols).
//
// Follows the protocol buffers of sentencepiece_model.proto by hand and demands: every length inside the file; pieces
// that are unique, short, valid UTF-8 without NUL, with a known type and a finite score; exactly one unknown piece;
// byte pieces only as a full set; a normalisation table whose trie stays inside itself. What it does not look at are
// numbers of the training options that loading never uses.
#pragma once

#include <string>
#include <string_view>

namespace attend {

// UserError saying what is wrong; `name` is what the message calls the model (its path).
void check_sentencepiece_model(std::string_view bytes, const std::string& name);

}  // namespace attend
