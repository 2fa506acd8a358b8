/// Abbreviated road and place names, as on street signs.
///
/// The words are those of OpenStreetMap's "Name finder: Abbreviations" for the languages of the signs; a name without any of them is not
/// shortened.
public enum Abbreviations {
    private static let words: [String: String] = [
        "Street": "St", "Road": "Rd", "Avenue": "Ave", "Boulevard": "Blvd", "Drive": "Dr", "Lane": "Ln", "Square": "Sq",
        "Place": "Pl", "Court": "Ct", "Highway": "Hwy", "Parkway": "Pkwy", "Expressway": "Expy", "Freeway": "Fwy",
        "Motorway": "Mwy", "Terrace": "Ter", "Saint": "St",
        "Rua": "R.", "Avenida": "Av.", "Travessa": "Tv.", "Largo": "Lg.", "Praça": "Pç.", "Estrada": "Estr.",
        "Calle": "C/", "Carretera": "Ctra.", "Plaza": "Pl.", "Carrer": "C.", "Avinguda": "Av.", "Plaça": "Pl.",
        "Rue": "R.", "Route": "Rte", "Chemin": "Ch.", "Straße": "Str.", "Strasse": "Str.", "Platz": "Pl.",
    ]
    private static let directions: [String: String] = [
        "North": "N", "South": "S", "East": "E", "West": "W",
        "Northeast": "NE", "Northwest": "NW", "Southeast": "SE", "Southwest": "SW",
    ]
    /// The names of states that begin with a direction, without the direction.
    private static let states: Set<Substring> = ["Carolina", "Dakota", "Virginia"]
    private static let endings: [(long: String, short: String)] = [
        ("straße", "str."), ("strasse", "str."), ("platz", "pl."), ("katu", "k."), ("gatan", "g."), ("vägen", "v."),
    ]

    /// Returns the abbreviated form of a text; nil when it has none.
    public static func shorter(_ text: String) -> String? {
        var isShorter = false
        let all = text.split(separator: " ", omittingEmptySubsequences: false)
        let parts = all.indices.map { index -> String in
            let word = all[index]
            if let short = words[String(word)] ?? direction(index, of: all) {
                isShorter = true
                return short
            }
            for (long, short) in endings where word.count > long.count && word.hasSuffix(long) {
                isShorter = true
                return word.dropLast(long.count) + short
            }
            return String(word)
        }
        return isShorter ? parts.joined(separator: " ") : nil
    }

    /// Returns the abbreviated form of a direction that indicates the part of a town: the last word, as in "Main Street North", or the word
    /// before the road's own name, as in "North Main Street"; nil where the direction belongs to the name, as in "North Street".
    private static func direction(_ index: Int, of all: [Substring]) -> String? {
        guard let short = directions[String(all[index])] else { return nil }
        func isRoad(_ words: ArraySlice<Substring>) -> Bool { words.contains { Self.words[String($0)] != nil } }
        if index == all.count - 1 { return isRoad(all.dropLast()) ? short : nil }
        return index == 0 && !states.contains(all[1]) && isRoad(all.dropFirst(2)) ? short : nil
    }
}
