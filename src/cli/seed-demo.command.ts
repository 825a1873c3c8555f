import type { INestApplicationContext } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ApiKeysService } from '../auth/credentials/api-keys/api-keys.service.js';
import type { Caller } from '../access/caller.js';
import { UsersService } from '../auth/model/users.service.js';
import { DemoService } from '../inventory/catalogue/demo/demo.service.js';
import { Config, ConfigError } from '../platform/config/config.js';
import { type AdminCommand, print } from './command.js';
import { inService } from './in-service.js';
import { seedSigningKeys, seedTimestampKey } from './demo-keys.js';

const ADMIN = 'admin@sealwright.local';
const ORIGIN = { requestId: 'seed-demo', address: '' };

/** seedDemo prepares a trial installation. Keeps existing data and writes the credentials to a file that only its owner can read. */
export const seedDemo: AdminCommand = {
  name: 'seed-demo',
  usage: ['[--out FILE] [--timestamps] [--inventory]'],
  summary: 'Prepares a trial installation: an administrator, an API key and two signing keys',
  details: [
    'Existing data is kept. Not allowed in profile prod.',
    '',
    '  --out FILE     file for the password and API key, mode 0600; default .data/demo.env',
    '  --timestamps   adds a timestamp authority whose certificate is issued by a root created for it',
    '  --inventory    adds demo assets if the inventory is empty; their sources are named demo:…',
  ],
  run: seed,
};

async function seed(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      out: { type: 'string', default: '.data/demo.env' },
      timestamps: { type: 'boolean', default: false },
      inventory: { type: 'boolean', default: false },
    },
  });
  const config = new Config();
  if (config.isProd) throw new ConfigError(['seed-demo is not allowed with SVC_PROFILE=prod']);
  await inService(async (app) => {
    const known = await readFacts(values.out);
    const facts = (await stillGood(app, known))
      ? { ...known, BASE_URL: config.publicUrl }
      : await newFacts(app, config);
    await writeFile(
      values.out,
      `${Object.entries(facts)
        .map(([name, value]) => `${name}='${value}'`)
        .join('\n')}\n`,
      { mode: 0o600 },
    );
    const caller = await app.get(ApiKeysService).authenticate(facts.API_KEY, ORIGIN);
    await seedSigningKeys(app, caller);
    if (values.timestamps) await seedTimestampKey(app, caller);
    if (values.inventory) await app.get(DemoService).seed(caller);
    print(`wrote ${values.out}`);
  });
}

type Facts = Record<'BASE_URL' | 'API_KEY' | 'ADMIN_EMAIL' | 'ADMIN_PASSWORD', string>;

async function readFacts(file: string): Promise<Facts> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const fact = (name: string) => new RegExp(`^${name}='?([^'\\n]*)'?$`, 'm').exec(text)?.[1] ?? '';
  return {
    BASE_URL: fact('BASE_URL'),
    API_KEY: fact('API_KEY'),
    ADMIN_EMAIL: fact('ADMIN_EMAIL'),
    ADMIN_PASSWORD: fact('ADMIN_PASSWORD'),
  };
}

async function stillGood(app: INestApplicationContext, { API_KEY }: Facts): Promise<boolean> {
  return app
    .get(ApiKeysService)
    .authenticate(API_KEY, ORIGIN)
    .then(
      () => true,
      () => false,
    );
}

async function newFacts(app: INestApplicationContext, config: Config): Promise<Facts> {
  const users = app.get(UsersService);
  const password = randomBytes(15).toString('base64url');
  const actor = { kind: 'system', id: 'seed-demo', name: 'seed-demo' } as const;
  // If the file was lost, its password cannot be recovered. Another administrator is then created with a new email address.
  const again = `admin-${randomBytes(3).toString('hex')}@sealwright.local`;
  const order = { email: ADMIN, password, roles: ['admin' as const] };
  const user =
    (await users.create(actor, order, 'seed-demo')) ??
    (await users.create(actor, { ...order, email: again }, 'seed-demo'));
  if (user === undefined) throw new Error('the demo administrator could not be created');
  const admin: Caller = {
    kind: 'user',
    id: user.id,
    name: user.email,
    ownerId: user.id,
    scopes: new Set(['admin:*']),
    origin: ORIGIN,
  };
  const expiry = new Date(Date.now() + 90 * 24 * 3600 * 1000);
  const { key } = await app.get(ApiKeysService).create(admin, { name: 'demo', permissions: ['admin:*'], expiry });
  return { BASE_URL: config.publicUrl, API_KEY: key, ADMIN_EMAIL: user.email, ADMIN_PASSWORD: password };
}
