import { Alert, Button, Card, CardBody, Stack, StackItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getSettingsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { testMail } from '../../api/generated/sdk.gen.js';
import type { MailTestView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Busy } from '../../patterns/busy.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Failed } from '../../patterns/problem.js';
import { useAction } from '../../patterns/use-action.js';

/** GeneralSettingsPage shows the settings from the operator's environment. They are read-only. */
export function GeneralSettingsPage() {
  const { t, named } = useI18n();
  const query = useQuery(getSettingsOptions());
  return (
    <PageFrame title={t('nav.general')} lead={t('settings.lead')} actions={<MailTest />}>
      {query.isError && <Failed query={query} />}
      {query.isPending && <Busy />}
      {query.data !== undefined && (
        <Card>
          <CardBody>
            <Facts
              facts={Object.entries(query.data).map(([name, value]) => [
                named('setting', name),
                Array.isArray(value) ? value.join(', ') || '–' : String(value),
              ])}
            />
          </CardBody>
        </Card>
      )}
    </PageFrame>
  );
}

/** MailTest sends a test email and shows the SMTP server's response. */
function MailTest() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isAsking, setAsking] = useState(false);
  const [result, setResult] = useState<MailTestView>();
  const action = useAction((values: Values) => testMail({ body: values as never }), {
    changes: [],
    onDone: setResult,
  });
  if (!may('settings:write')) return null;
  return (
    <Stack hasGutter>
      <StackItem>
        <Button variant="secondary" onClick={() => setAsking(true)}>
          {t('mail.test')}
        </Button>
      </StackItem>
      {result !== undefined && (
        <StackItem>
          <Alert
            component="h2"
            isInline
            role="status"
            variant={result.sent ? 'success' : 'danger'}
            title={t(result.sent ? 'mail.sent' : 'mail.notSent')}
          >
            <span className="sw-mono">{result.answer}</span>
          </Alert>
        </StackItem>
      )}
      {isAsking && (
        <FormDialog
          title={t('mail.test')}
          lead={t('mail.test.lead')}
          submit={t('mail.test')}
          action={action}
          onClose={() => setAsking(false)}
          fields={[{ name: 'recipient', kind: 'email', label: t('mail.recipient'), isRequired: true }]}
        />
      )}
    </Stack>
  );
}
