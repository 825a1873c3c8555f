import { Alert, Card, CardBody, List, ListItem, Stack, StackItem } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import TimesCircleIcon from '@patternfly/react-icons/dist/esm/icons/times-circle-icon';
import type { VerificationView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Facts } from '../../patterns/facts.js';
import { Moment } from '../../patterns/moment.js';

/** VerdictCard shows the result of a verification and of each check. */
export function VerdictCard({ verdict }: { verdict: VerificationView }) {
  const { t, named } = useI18n();
  const { valid, checks, key, subject, signedBefore } = verdict;
  return (
    <Card>
      <CardBody>
        <Stack hasGutter>
          <StackItem>
            <Alert
              component="h2"
              role="status"
              isInline
              variant={valid ? 'success' : 'danger'}
              title={t(valid ? 'verify.valid' : 'verify.invalid')}
            />
          </StackItem>
          <StackItem>
            <List isPlain>
              {checks.map(({ check, ok, detail }) => (
                <ListItem
                  key={check}
                  icon={ok ? <CheckCircleIcon className="sw-good" /> : <TimesCircleIcon className="sw-bad" />}
                >
                  <strong>{named('check', check)}</strong> {t(ok ? 'verify.checkPassed' : 'verify.checkFailed')}:{' '}
                  {detail}
                </ListItem>
              ))}
            </List>
          </StackItem>
          {key.version !== undefined && (
            <StackItem>
              <Facts
                facts={[
                  [t('key'), `${key.name} v${key.version}`],
                  [t('verify.subject'), subject],
                  [t('verify.signedBefore'), signedBefore === undefined ? undefined : <Moment at={signedBefore} />],
                ]}
              />
            </StackItem>
          )}
        </Stack>
      </CardBody>
    </Card>
  );
}
