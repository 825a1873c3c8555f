import { Button, Card, CardBody, CardHeader, CardTitle } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import type { SigningKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { ClaimConditions } from '../../patterns/claim-conditions.js';
import { Facts } from '../../patterns/facts.js';
import { Day } from '../../patterns/moment.js';
import { People } from '../../patterns/person.js';
import { KeyTermsDialog } from './key-terms-dialog.js';

/** KeyTerms shows the usage restrictions of a signing key. */
export function KeyTerms({ signingKey }: { signingKey: SigningKeyView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  const canChange = may('signing-keys:write') && (signingKey.state === 'ACTIVE' || signingKey.state === 'DISABLED');
  const facts = useTerms(signingKey);
  return (
    <Card>
      <CardHeader
        {...(canChange && {
          actions: {
            actions: (
              <Button variant="link" onClick={() => setOpen(true)}>
                {t('key.terms.change')}
              </Button>
            ),
          },
        })}
      >
        <CardTitle component="h2">{t('key.terms')}</CardTitle>
      </CardHeader>
      <CardBody>
        {facts.length === 0 ? <p className="sw-muted">{t('key.terms.none')}</p> : <Facts facts={facts} />}
      </CardBody>
      {isOpen && <KeyTermsDialog signingKey={signingKey} onClose={() => setOpen(false)} />}
    </Card>
  );
}

function useTerms({ notBefore, notAfter, constraints, usage }: SigningKeyView): [string, ReactNode][] {
  const { t, named, language } = useI18n();
  const { algorithms, schemes, formats, fileNames, callers, verified, hours, timestamp, perDay, lifetime } =
    constraints;
  const listed = (list: readonly string[] | undefined) => list?.join(', ');
  const used = (count: number | undefined, most: number | undefined) =>
    most === undefined ? undefined : `${(count ?? 0).toLocaleString(language)} / ${most.toLocaleString(language)}`;
  const clock =
    hours &&
    `${hours.days.map((day) => named('weekday', day)).join(', ')} ${hours.from}–${hours.until} ${hours.timeZone}`;
  const terms: [string, ReactNode][] = [
    [t('key.from'), notBefore && <Day key="f" at={notBefore} />],
    [t('key.until'), notAfter && <Day key="u" at={notAfter} />],
    [t('key.algorithms'), listed(algorithms)],
    [t('key.schemes'), listed(schemes)],
    [t('key.formats'), listed(formats)],
    [t('key.fileNames'), listed(fileNames)],
    [t('key.callers'), callers && <People key="c" ids={callers} />],
    [t('claims.verified'), verified && <ClaimConditions key="v" conditions={verified} />],
    [t('key.hours'), clock],
    [t('key.timestamp'), timestamp && named('timestampRule', timestamp)],
    [t('key.perDay'), used(usage?.today, perDay)],
    [t('key.lifetime'), used(usage?.lifetime, lifetime)],
  ];
  return terms.filter(([, value]) => value !== undefined);
}
