import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { EntityManager } from 'typeorm';

const compressed = promisify<Buffer, Buffer>(deflateRaw);
const expanded = promisify<Buffer, Buffer>(inflateRaw);

/** Keeps what the bom-refs of a document stand for; documents that say the same share it. */
export async function keepRefs(tx: EntityManager, said: Buffer, refs: [ref: string, id: string][]): Promise<void> {
  const known = (await tx.query('SELECT 1 FROM bom_link_refs WHERE said = $1', [said])) as unknown[];
  if (known.length > 0) return;
  const text = JSON.stringify(refs);
  await tx.query('INSERT INTO bom_link_refs (said, refs) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    said,
    await compressed(Buffer.from(text)),
  ]);
}

export async function readRefs(refs: Buffer): Promise<Map<string, string>> {
  return new Map(JSON.parse((await expanded(refs)).toString()) as [string, string][]);
}
