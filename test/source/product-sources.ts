import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export const ROOT = join(import.meta.dirname, '../..');

/** Source file of the product: the service, client, sensor, verifier or console. */
export interface Source {
  /** Path from the repository root. */
  readonly path: string;
  readonly tree: ts.SourceFile;
}

/** Returns all source files except tests, parsed by the TypeScript compiler. */
export function productSources(): Source[] {
  const paths = globSync('{src,ui/src}/**/*.{ts,tsx}', {
    cwd: ROOT,
    exclude: (name) => /(?:^|\/)(?:node_modules|generated|migrations)$|\.(?:spec|d)\.ts$/.test(name),
  });
  return paths.sort().map((path) => ({
    path,
    tree: ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest, true),
  }));
}

/** Calls `visit` for every node of the tree, parents before their children. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** Returns the location as `path:line`, which editors can open. */
export function placeOf({ path, tree }: Source, node: ts.Node): string {
  return `${path}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`;
}
