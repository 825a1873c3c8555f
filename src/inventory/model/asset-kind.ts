/** Kinds of assets. The first four are CycloneDX 1.6 `assetType`s; a `component` is a library or application that uses cryptographic assets. */
export const ASSET_KINDS = ['algorithm', 'certificate', 'protocol', 'related-crypto-material', 'component'] as const;
export type AssetKind = (typeof ASSET_KINDS)[number];

/**
 * State of an asset. `stale`: missing from the newest document of every source that contained the asset; `resolved`: missing from three consecutive
 * documents. An asset becomes `active` again as soon as one source contains the asset.
 */
export const ASSET_STATES = ['active', 'stale', 'resolved'] as const;
export type AssetState = (typeof ASSET_STATES)[number];

/** MISSED_UNTIL_RESOLVED is the number of consecutive documents without an asset after which the asset is considered resolved. */
export const MISSED_UNTIL_RESOLVED = 3;

/**
 * stateOf returns SQL for the state of an asset, in a query that groups occurrences by asset. One occurrence that is not missing makes the asset active.
 *
 * @param row alias of `asset_occurrence`
 */
export function stateOf(row: string): string {
  return `CASE WHEN min(${row}.missed) = 0 THEN 'active' WHEN min(${row}.missed) >= ${MISSED_UNTIL_RESOLVED} THEN 'resolved' ELSE 'stale' END`;
}
