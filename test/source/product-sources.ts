import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export const ROOT = join(import.meta.dirname, '../..');

/** A source file of the product: the service, its client, sensor and verifier, and the console. */
export interface Source {
  /** From the root of the repository. */
  readonly path: string;
  readonly tree: ts.SourceFile;
}

/** All of them but tests, parsed by the TypeScript compiler. */
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

/** Calls back for every node of the tree, parents before their children. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** `path:line`, as editors open it. */
export function placeOf({ path, tree }: Source, node: ts.Node): string {
  return `${path}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`;
}
