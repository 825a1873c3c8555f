import { Client, type PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyInto } from '../../src/platform/database/copy.js';
import { openStage, type Stage } from '../support/stage.js';

const ROWS = 400_000;

let stage: Stage;
let client: Client;

beforeAll(async () => {
  stage = await openStage();
  client = new Client({ connectionString: stage.databaseUrl });
  await client.connect();
  await client.query('CREATE TABLE once (number int PRIMARY KEY, text text)');
});
afterAll(async () => {
  await client.end();
  await stage.close();
});

/** Yields repeated numbers, so that the database rejects a row before most rows have been sent. */
function* numbers(): Generator<number> {
  for (let row = 0; row < ROWS; row += 1) yield row % 2000;
}

it('rows rejected by the database during a copy fail with its reason, and the connection remains usable', async () => {
  for (let round = 0; round < 5; round += 1) {
    const copied = copyInto(client as unknown as PoolClient, 'once', numbers(), (to, number) => {
      to.row(2);
      to.int4(number);
      to.text('x'.repeat(100));
    });
    await expect(copied).rejects.toMatchObject({ code: '23505' });
    expect((await client.query('SELECT count(*)::int AS count FROM once')).rows).toEqual([{ count: 0 }]);
  }
});
