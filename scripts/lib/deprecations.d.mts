/** Returns the distinct deprecation warnings in the logs of the processes. */
export function findDeprecations(directory: string): { readonly logs: number; readonly found: readonly string[] };
