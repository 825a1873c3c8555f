import { afterAll, beforeAll, describe } from 'vitest';
import { CHROMIUM } from '../support/browser.js';
import { approvalJourneys } from './journeys/approvals.js';
import { discoveryJourneys } from './journeys/discovery.js';
import { editFormJourneys } from './journeys/edit-forms.js';
import { inventoryJourneys } from './journeys/inventory.js';
import { peopleJourneys } from './journeys/people.js';
import { rotationJourneys } from './journeys/rotation.js';
import { settingsJourneys } from './journeys/settings.js';
import { signingJourneys } from './journeys/signing.js';
import { singleSignOnJourneys } from './journeys/single-sign-on.js';
import { sshAuthorityJourneys } from './journeys/ssh-authorities.js';
import { workloadJourneys } from './journeys/workloads.js';
import { type ConsolePlace, openConsole } from './place.js';

/** User journeys in a real browser. All journeys share one service, because starting a service takes longer than most journeys. */
describe.skipIf(CHROMIUM === undefined)('in the console', () => {
  let place: ConsolePlace;
  beforeAll(async () => {
    place = await openConsole();
  });
  afterAll(() => place?.close());
  const at = () => place;

  signingJourneys(at);
  approvalJourneys(at);
  peopleJourneys(at);
  settingsJourneys(at);
  inventoryJourneys(at);
  discoveryJourneys(at);
  rotationJourneys(at);
  sshAuthorityJourneys(at);
  workloadJourneys(at);
  singleSignOnJourneys(at);
  editFormJourneys(at);
});
