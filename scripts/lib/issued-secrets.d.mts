export interface IssuedSearch {
  readonly secrets: number;
  readonly files: number;
  readonly bytes: number;
  readonly found: readonly { readonly file: string; readonly beginning: string }[];
}
/** Looks for every secret that a run issued in everything that the run logged and stored. */
export function findIssued(directory: string): IssuedSearch;
