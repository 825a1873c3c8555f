/** Kinds of assets. The first four are CycloneDX 1.6 `assetType`s; a `component` is a library or application that uses one. */
export const ASSET_KINDS = ['algorithm', 'certificate', 'protocol', 'related-crypto-material', 'component'] as const;
export type AssetKind = (typeof ASSET_KINDS)[number];

/**
 * Where an asset stands in its life. `stale`: missing from the newest document of every source that knew it;
 * `resolved`: missing three times in a row. It is `active` again as soon as one source shows it.
 */
export const ASSET_STATES = ['active', 'stale', 'resolved'] as const;
export type AssetState = (typeof ASSET_STATES)[number];

/** After so many documents without it, what a source once showed counts as gone. */
export const MISSED_UNTIL_RESOLVED = 3;

/** SQL: the state of the asset whose occurrences a group is; one that is not missed makes it active. @param row alias of `asset_occurrence` */
export function stateOf(row: string): string {
  return `CASE WHEN min(${row}.missed) = 0 THEN 'active' WHEN min(${row}.missed) >= ${MISSED_UNTIL_RESOLVED} THEN 'resolved' ELSE 'stale' END`;
}
