/// Returns a quantile of values by linear interpolation; 0 without values.
///
/// - Parameter share: The quantile, from 0 for the least value to 1 for the greatest.
package func quantile(_ values: [Double], _ share: Double) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    let place = (share.isFinite ? min(max(share, 0), 1) : 0) * Double(sorted.count - 1)
    let low = Int(place)
    return sorted[low] + (sorted[min(low + 1, sorted.count - 1)] - sorted[low]) * (place - Double(low))
}
