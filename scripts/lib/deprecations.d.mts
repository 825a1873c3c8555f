/** Calls that Node.js or a package will remove, by what the processes of a run said of them; each once. */
export function findDeprecations(directory: string): { readonly logs: number; readonly found: readonly string[] };
