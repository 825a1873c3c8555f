export interface IssuedSearch {
  readonly secrets: number;
  readonly files: number;
  readonly bytes: number;
  readonly found: readonly { readonly file: string; readonly beginning: string }[];
}
/** Searches everything that a test run logged and stored for every secret that the run issued. */
export function findIssued(directory: string): IssuedSearch;
