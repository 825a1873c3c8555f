import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { placeOf, productSources, ROOT, type Source, walk } from './product-sources.js';

/** Types that give access to HSM keys, with the methods that create a signature. */
const SIGNERS: Readonly<Record<string, readonly string[]>> = {
  KeyVault: ['sign', 'signCheckpoint'],
  SigningService: ['submit', 'signOwn'],
  FacadeSigning: ['sign'],
  JsonSignaturesService: ['signer'],
  SigningBatchesService: ['submit'],
  DualSignaturesService: ['submit'],
  SignBatchValidator: ['submit'],
  TimestampAuthority: ['stamp'],
  SshCertificateSigner: ['sign'],
  SshCertificatesService: ['issue'],
};
const HEADING = '## Every way to a signature';

/** Returns the members and parameters of a file that have one of the SIGNERS types, by name. */
function signersIn({ tree }: Source): Map<string, string> {
  const found = new Map<string, string>();
  walk(tree, (node) => {
    if (!ts.isParameter(node) && !ts.isPropertyDeclaration(node)) return;
    const type = node.type !== undefined && ts.isTypeReferenceNode(node.type) ? node.type.typeName.getText() : '';
    if (Object.hasOwn(SIGNERS, type) && ts.isIdentifier(node.name)) found.set(node.name.text, type);
  });
  return found;
}

/** Returns the calls in a file that create a signature. */
function signingCalls(source: Source): string[] {
  const signers = signersIn(source);
  const calls: string[] = [];
  walk(source.tree, (node) => {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    const { expression: object, name: method } = node.expression;
    const name = ts.isPropertyAccessExpression(object) ? object.name.text : ts.isIdentifier(object) ? object.text : '';
    const type = signers.get(name);
    if (type !== undefined && SIGNERS[type]?.includes(method.text) === true) calls.push(placeOf(source, node));
  });
  return calls;
}

/** Returns the files in the first column of the guide's table, relative to the repository root. */
function namedInGuide(): string[] {
  const [, section = ''] = readFileSync(join(ROOT, 'docs/attacks.md'), 'utf8').split(HEADING);
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  const ways = rows.map((row) => row.split(' | ')[0] ?? '').join(' ');
  return [...ways.matchAll(/`([\w/-]+(?:\.[\w-]+)*\.ts)`/g)].map(([, path = '']) => `src/${path}`);
}

describe('every path to an HSM signature', () => {
  const calls = productSources()
    .filter(({ path }) => path.startsWith('src/') && !/^src\/(?:hsm|client)\//.test(path))
    .flatMap(signingCalls);
  const files = [...new Set(calls.map((place) => place.split(':')[0] ?? ''))].sort();

  it('is in the guide, with the checks before it', () => {
    expect(calls.length).toBeGreaterThan(15);
    expect([...new Set(namedInGuide())].sort()).toEqual(files);
  });

  it('ends in five files that call the HSM', () => {
    const asking = productSources()
      .filter(({ path }) => path.startsWith('src/') && !path.startsWith('src/hsm/'))
      .filter(({ tree }) => /\bvault\s*\.\s*sign(?:Checkpoint)?\(/.test(tree.text));
    expect(asking.map(({ path }) => path)).toEqual([
      'src/audit/log/log-anchors.ts',
      'src/signing/requests/signer.ts',
      'src/signing/timestamping/timestamp-authority.ts',
      'src/ssh-keys/certificate-authority/ssh-certificate-signer.ts',
      'src/ssh-keys/rotation/custody/key-trial.ts',
    ]);
  });
});
