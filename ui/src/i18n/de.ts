import { approvals } from './de/approvals.js';
import { discovery } from './de/discovery.js';
import { inventory } from './de/inventory.js';
import { operations } from './de/operations.js';
import { overview } from './de/overview.js';
import { people } from './de/people.js';
import { settings } from './de/settings.js';
import { shell } from './de/shell.js';
import { signing } from './de/signing.js';
import { singleSignOn } from './de/single-sign-on.js';
import { ssh } from './de/ssh.js';
import { sshCa } from './de/ssh-ca.js';
import { states } from './de/states.js';
import { words } from './de/words.js';
import type { Catalogue } from './en.js';

export const de: Catalogue = {
  ...words,
  ...shell,
  ...states,
  ...overview,
  ...signing,
  ...approvals,
  ...inventory,
  ...ssh,
  ...sshCa,
  ...discovery,
  ...operations,
  ...people,
  ...settings,
  ...singleSignOn,
};
