import { Injectable } from '@nestjs/common';
import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import type { EntityManager } from 'typeorm';
import { Seal } from '../../../platform/sealing/seal.js';

const PURPOSE = 'inventory.import';
/** PART_BYTES is the size of a part before compression. Sealing a part of this size takes a few milliseconds. */
const PART_BYTES = 4 * 1024 * 1024;
const compressed = promisify<Buffer, { level: number }, Buffer>(deflate);
const expanded = promisify<Buffer, Buffer>(inflate);

/** ImportBodies stores bodies until they are ingested. The bodies are compressed off the event loop and sealed. */
@Injectable()
export class ImportBodies {
  constructor(private readonly seal: Seal) {}

  async keep(tx: EntityManager, id: string, body: Buffer): Promise<void> {
    for (let at = 0, number = 0; at < body.length; at += PART_BYTES, number += 1) {
      const part = await compressed(body.subarray(at, at + PART_BYTES), { level: 1 });
      await tx.query('INSERT INTO inventory_import_part (import_id, number, sealed) VALUES ($1, $2, $3)', [
        id,
        number,
        this.seal.close(PURPOSE, `${id}/${number}`, part),
      ]);
    }
  }

  async read(tx: EntityManager, id: string, bytes: number): Promise<Buffer> {
    const body = Buffer.alloc(bytes);
    for (let at = 0, number = 0; at < bytes; number += 1) {
      const [row] = (await tx.query('SELECT sealed FROM inventory_import_part WHERE import_id = $1 AND number = $2', [
        id,
        number,
      ])) as { sealed: Buffer }[];
      if (row === undefined) throw new Error('a part of the body is missing');
      const part = await expanded(this.seal.open(PURPOSE, `${id}/${number}`, row.sealed));
      at += part.copy(body, at);
    }
    return body;
  }

  async forget(tx: EntityManager, id: string): Promise<void> {
    await tx.query('DELETE FROM inventory_import_part WHERE import_id = $1', [id]);
  }
}
