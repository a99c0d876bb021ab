// Validates a SentencePiece model before the library reads it: the packaged 0.1.97 trusts its input (CVE-2026-1260,
// and out-of-bounds reads through a crafted normalisation table or deeply nested symbols).
//
// Walks the protocol buffers of sentencepiece_model.proto and requires: every length within the file; pieces that are
// unique, short, valid UTF-8 without NUL, with a known type and a finite score; exactly one unknown piece; byte pieces
// only as a full set; a normalisation table whose trie stays in bounds. Training options that loading never uses are
// not checked.
#pragma once

#include <string>
#include <string_view>

namespace attend {

// Throws UserError with the reason; `name` is the model's name (path) in the message.
void check_sentencepiece_model(std::string_view bytes, const std::string& name);

}  // namespace attend
