import { writeFileSync } from 'node:fs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { inRoot } from './lib/project.mjs';

/** `npm run env-example`: writes .env.example from the settings table. Node 24 can load TypeScript whose types only have to be stripped. */
await continueUnderNode24();
const { envExample } = await import(inRoot('src/platform/config/settings.ts'));
writeFileSync(inRoot('.env.example'), envExample());
