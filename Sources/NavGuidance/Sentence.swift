internal import NavGeo

/// A sentence in pieces, from which both plain text and speech markup are made.
struct Sentence: Sendable, Hashable {
    /// A stretch of text.
    struct Piece: Sendable, Hashable {
        var text: String
        /// Whether it is a name or number from the map, rather than words of the language.
        var isName: Bool
        /// The pronunciation of a name in the International Phonetic Alphabet; nil to read it as written.
        var pronunciation: String?
    }

    var pieces: [Piece] = []

    init() {}

    /// A sentence of words in the language.
    init(words: String) { pieces = words.isEmpty ? [] : [Piece(text: words, isName: false)] }

    /// A sentence of a name or number from the map.
    init(name: String) { pieces = name.isEmpty ? [] : [Piece(text: name, isName: true)] }

    /// A phrase with its placeholders filled; a placeholder without a value becomes empty.
    ///
    /// - Parameter value: Returns the value of a placeholder; called only for those in the phrase.
    init(_ phrase: String, _ value: (Substring) -> Sentence) {
        var rest = phrase[...]
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")),
            let close = rest.utf8[open...].firstIndex(of: UInt8(ascii: "}"))
        {
            if open > rest.startIndex { pieces.append(Piece(text: String(rest[..<open]), isName: false)) }
            pieces += value(rest[rest.utf8.index(after: open)..<close]).pieces
            rest = rest[rest.utf8.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(Piece(text: String(rest), isName: false)) }
    }

    /// Sets the pronunciation of a name wherever it occurs as a piece.
    mutating func pronounce(_ name: String, as pronunciation: String) {
        for index in pieces.indices where pieces[index].isName && pieces[index].text == name {
            pieces[index].pronunciation = pronunciation
        }
    }

    /// Returns the sentence with an initial capital letter, unless it starts with a name.
    func capitalised() -> Sentence {
        guard let first = pieces.first, !first.isName, let letter = first.text.first else { return self }
        var result = self
        result.pieces[0].text = letter.uppercased() + first.text.dropFirst()
        return result
    }

    /// Plain text.
    var text: String {
        pieces.count == 1 ? pieces[0].text : pieces.reduce(into: "") { $0 += $1.text }
    }

    /// Returns Speech Synthesis Markup Language 1.1 (W3C, 2010). Names with digits are marked as parts of an address, so that they are not
    /// read as quantities; known pronunciations are included.
    func ssml(language: String) -> String {
        var result = "<speak version=\"1.1\" xmlns=\"http://www.w3.org/2001/10/synthesis\" xml:lang=\""
        result += escapedForMarkup(language) + "\">"
        for piece in pieces {
            let text = escapedForMarkup(piece.text)
            if let pronunciation = piece.pronunciation {
                result += "<phoneme alphabet=\"ipa\" ph=\"\(escapedForMarkup(pronunciation))\">\(text)</phoneme>"
                continue
            }
            let hasDigits = piece.text.utf8.contains { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            result += piece.isName && hasDigits ? "<say-as interpret-as=\"address\">\(text)</say-as>" : text
        }
        return result + "</speak>"
    }
}
