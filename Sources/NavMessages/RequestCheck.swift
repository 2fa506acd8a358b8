extension SchemaPool {
    /// Returns the path and the error of the first unusable value in a message; nil when there is none.
    ///
    /// Unusable are an enum number without a name and a floating-point number that is not finite. Both are valid protobuf, but
    /// would otherwise be treated as absent.
    ///
    /// - Parameters:
    ///   - bytes: a valid message; malformed bytes are checked as far as possible.
    ///   - fullName: its type; the result is nil for a type that is not in the pool.
    public func unusableValue(in bytes: UnsafeRawBufferPointer, as fullName: String) -> String? {
        guard let index = messageIndices[fullName] else { return nil }
        return unusableValue(bytes, 0..<bytes.count, messages[index], at: "", depth: 0)
    }

    private func unusableValue(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ type: MessageDeclaration, at place: String, depth: Int
    ) -> String? {
        guard depth < SchemaPool.maximumDepth else { return nil }
        var cursor = WireCursor(bytes, range)
        var last = -1
        while !cursor.isAtEnd {
            guard let tag = cursor.tag(), let value = cursor.value(tag.shape) else { return nil }
            guard let position = type.position(of: tag.number, after: last) else { continue }
            last = position
            let field = type.fields[position]
            if case .message(let inner) = field.kind, tag.shape == .bytes {
                if let found = unusableValue(
                    bytes, value, messages[inner], at: place + field.name + ".", depth: depth + 1)
                {
                    return found
                }
                continue
            }
            guard let complaint = complaint(about: field.kind) else { continue }
            // A packed list holds consecutive values.
            let shape = tag.shape == .bytes ? field.kind.shape : tag.shape
            var values = WireCursor(bytes, value)
            while let shape, !values.isAtEnd, let one = values.value(shape) {
                if let text = complaint(WireCursor(bytes, one)) { return "\(place)\(field.name): \(text)" }
            }
        }
        return nil
    }

    /// Returns the check for values of a kind of field; nil for kinds whose values are all usable.
    private func complaint(about kind: FieldDeclaration.Kind) -> ((WireCursor) -> String?)? {
        switch kind {
        case .enumeration(let index):
            let declaration = enums[index]
            return { cursor in
                var cursor = cursor
                let number = Int32(truncatingIfNeeded: cursor.varint() ?? 0)
                return declaration.name(of: number) == nil ? "\(number) is not a value of \(declaration.fullName)" : nil
            }
        case .double:
            return { cursor in
                var cursor = cursor
                let number = Double(bitPattern: cursor.fixed64() ?? 0)
                return number.isFinite ? nil : "\(number) is not a finite number"
            }
        case .float:
            return { cursor in
                var cursor = cursor
                let number = Float(bitPattern: cursor.fixed32() ?? 0)
                return number.isFinite ? nil : "\(number) is not a finite number"
            }
        default: return nil
        }
    }
}
