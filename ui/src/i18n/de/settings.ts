import type { settings as english } from '../en/settings.js';

export const settings: Record<keyof typeof english, string> = {
  'apiKeys.addresses': 'Erlaubte IP-Adressen',
  'apiKeys.addresses.hint':
    'Geben Sie pro Zeile eine Adresse oder einen CIDR-Block ein, z. B. 10.1.0.0/16. Lassen Sie das Feld leer, um alle Adressen zu erlauben.',
  'apiKeys.create': 'API-Schlüssel erzeugen',
  'apiKeys.create.lead':
    'Der Schlüssel kann höchstens Ihre eigenen Berechtigungen haben. Wählen Sie nur die aus, die die Anwendung benötigt.',
  'apiKeys.edit': 'API-Schlüssel bearbeiten',
  'apiKeys.edit.lead':
    'Änderungen werden innerhalb von fünf Sekunden wirksam. Berechtigungen entziehen Sie über die API.',
  'apiKeys.expiry': 'Läuft ab',
  'apiKeys.lead': 'Zugangsdaten für Anwendungen. Ein Schlüssel wird nur einmal angezeigt, wenn er erzeugt wird.',
  'apiKeys.name.hint': 'Wofür der Schlüssel verwendet wird, z. B. „Release-Pipeline“.',
  'apiKeys.none': 'Noch keine API-Schlüssel',
  'apiKeys.overlap': 'Übergangszeit (Stunden)',
  'apiKeys.revoke.lead':
    'Anwendungen, die „{name}“ verwenden, verlieren sofort den Zugriff. Dies kann nicht rückgängig gemacht werden.',
  'apiKeys.rotate': 'Rotieren',
  'apiKeys.rotate.lead':
    'Erzeugt einen neuen Schlüssel mit denselben Berechtigungen wie „{name}“. Der alte Schlüssel bleibt bis zum Ende der Übergangszeit gültig.',
  'apiKeys.timestampAddress': 'URL für Zeitstempel-Clients (RFC 3161)',

  'claim.environment': 'Zielumgebung',
  'claim.job_workflow_ref': 'Wiederverwendbarer Workflow',
  'claim.project_path': 'Projekt (GitLab)',
  'claim.ref': 'Branch oder Tag',
  'claim.ref_protected': 'Branch oder Tag ist geschützt',
  'claim.repository': 'Repository',
  'claim.runner_environment': 'Runner',
  'claim.sub': 'Subject',
  'claim.workflow_ref': 'Workflow',

  'claimFault.disabled': 'Diese Regel ist deaktiviert.',
  'claimFault.issuer-disabled': 'Der Aussteller ist deaktiviert.',
  'claimFault.principal': 'Die Principals lassen sich nicht aus den Claims ableiten.',
  'claimFault.pull-request': 'Ausführungen für Pull- oder Merge-Requests werden nicht akzeptiert.',
  'claimFault.subject': 'Die Regel gilt für einen anderen Aufrufertyp.',
  'claims.absent': 'nicht im Token enthalten',
  'claims.accepted': 'Akzeptiert',
  'claims.claim': 'Claim',
  'claims.conditions': 'Bedingungen',
  'claims.conditions.add': 'Claim hinzufügen',
  'claims.conditions.hint':
    'Alle Claims müssen übereinstimmen. Geben Sie pro Zeile einen zulässigen Wert ein. * steht für beliebige Zeichen innerhalb eines Pfadsegments (refs/tags/v*), ** am Ende für den Rest des Pfads. Verschachtelte Claims geben Sie als JSON-Pointer an, z. B. /kubernetes.io/namespace.',
  'claims.email': 'E-Mail-Adresse',
  'claims.email.hint': 'Die E-Mail-Adresse des Benutzerkontos.',
  'claims.actual': 'Tatsächlich:',
  'claims.name': 'Name des Claims',
  'claims.not': 'nicht',
  'claims.or': 'oder',
  'claims.other': 'Anderer Claim …',
  'claims.refused': 'Abgelehnt',
  'claims.result': 'Ergebnis',
  'claims.token': 'Token oder Claims',
  'claims.token.hint':
    'Fügen Sie ein JWT oder seine Claims als JSON ein. Das Token bleibt in Ihrem Browser. Nur die Claims werden zum Vergleich gesendet und nicht gespeichert. Die Signatur wird nicht geprüft.',
  'claims.try': 'Token testen',
  'claims.try.submit': 'Testen',
  'claims.unmet': 'Der Claim {claim} stimmt nicht überein.',
  'claims.unreadable': 'Geben Sie ein JWT oder ein JSON-Objekt ein.',
  'claims.values': 'Werte',
  'claims.verified': 'Erforderliche verifizierte Claims',
  'claims.verified.hint':
    'Nur Workloads, deren Token alle diese Claims enthält, können den Schlüssel verwenden. Geben Sie pro Zeile einen zulässigen Wert ein. * steht für beliebige Zeichen innerhalb eines Pfadsegments (refs/tags/v*), ** am Ende für den Rest des Pfads. Leer: keine Beschränkung.',
  'claims.expected': 'Erwartet:',
  'claims.caller': 'Aufrufer',
  'claims.reason': 'Grund',

  'client.confidential': 'Vertraulich (authentifiziert sich)',
  'client.public': 'Öffentlich (z. B. ein Befehlszeilenprogramm)',

  'clientMethod.client_secret_basic': 'Client-Secret',
  'clientMethod.none': 'Keine (öffentlicher Client)',
  'clientMethod.private_key_jwt': 'Signiertes JWT',
  'clientMethod.self_signed_tls_client_auth': 'Registriertes TLS-Zertifikat',
  'clientMethod.tls_client_auth': 'Von einer CA ausgestelltes TLS-Zertifikat',

  'clientSubject.san_dns': 'Hostname (SAN)',
  'clientSubject.san_email': 'E-Mail-Adresse (SAN)',
  'clientSubject.san_ip': 'IP-Adresse (SAN)',
  'clientSubject.san_uri': 'URI (SAN), z. B. SPIFFE-ID',
  'clientSubject.subject_dn': 'Distinguished Name (RFC 4514)',

  'clients.anchors': 'Vertrauensanker (PEM)',
  'clients.anchors.hint': 'Zertifikate der CAs, die das Zertifikat des Clients ausstellen.',
  'clients.certificates': 'Client-Zertifikate (PEM)',
  'clients.certificates.hint':
    'Ohne private Schlüssel. Für einen Wechsel ohne Unterbrechung geben Sie das alte und das neue Zertifikat ein.',
  'clients.certificates.replace': 'Zertifikate ersetzen',
  'clients.certificates.replace.lead':
    'Die bisher für „{name}“ registrierten Zertifikate werden sofort ungültig und vorhandene Token widerrufen.',
  'clients.create': 'Client anlegen',
  'clients.edit': 'Client bearbeiten',
  'clients.edit.lead':
    'Änderungen werden innerhalb von fünf Sekunden wirksam, auch für vorhandene Token. Berechtigungen entziehen Sie über die API.',
  'clients.id': 'Client-ID',
  'clients.intermediates': 'Zwischenzertifikate (PEM)',
  'clients.intermediates.hint':
    'Nur erforderlich, wenn der Proxy die vom Client gesendeten Zwischenzertifikate nicht weiterleitet.',
  'clients.lead': 'Anwendungen, die über OAuth 2.0 kurzlebige Zugriffstoken beziehen.',
  'clients.method': 'Authentifizierung',
  'clients.method.hint': 'Zertifikate erfordern einen Proxy, der sie weiterleitet (SVC_CLIENT_CERT_HEADER).',
  'clients.none': 'Noch keine Clients',
  'clients.revoke.lead': '„{name}“ erhält keine Token mehr und vorhandene Token werden widerrufen.',
  'clients.secret': 'Secret rotieren',
  'clients.secret.lead': 'Erzeugt ein neues Secret für „{name}“. Das alte Secret wird sofort ungültig.',
  'clients.subject': 'Subject',
  'clients.subject.hint': 'Geben Sie den Wert genau wie im Zertifikat ein. Platzhalter werden nicht unterstützt.',
  'clients.subjectKind': 'Identifiziert durch',
  'clients.theSecret': 'Client-Secret',
  'clients.type.hint':
    'Ein öffentlicher Client hat kein Secret und kann nur im Namen einer angemeldeten Person handeln.',

  'issuers.create': 'Aussteller hinzufügen',
  'issuers.create.lead':
    'Der Dienst ruft die Schlüssel des Ausstellers sofort ab, um die URL zu prüfen. Token werden erst akzeptiert, wenn Sie eine Vertrauensregel anlegen.',
  'issuers.issuer': 'Aussteller (iss)',
  'issuers.issuer.hint': 'Der genaue Wert des Claims iss in seinen Token.',
  'issuers.jwks': 'Öffentliche Schlüssel (JWK Set)',
  'issuers.jwks.hint':
    'Fügen Sie die öffentlichen Schlüssel ein, die der Aussteller unter seiner jwks_uri veröffentlicht.',
  'issuers.keys': 'Herkunft der Schlüssel',
  'issuers.keys.hint': 'Laden Sie Schlüssel nur hoch, wenn dieser Dienst den Aussteller nicht erreichen kann.',
  'issuers.keys.of': '{count} ({source})',
  'issuers.lead': 'CI-Systeme, Cluster und Clouds, deren Token Workloads identifizieren.',
  'issuers.none': 'Noch keine Aussteller',
  'issuers.none.body':
    'Mit einem Aussteller und einer Vertrauensregel können Pipelines ohne gespeichertes Secret signieren.',
  'issuers.read': 'Schlüssel zuletzt abgerufen',
  'issuers.remove.lead':
    'Entfernt „{name}“ mit allen zugehörigen Vertrauensregeln. Die Token werden innerhalb weniger Sekunden abgelehnt.',
  'keySource.discovery': 'Discovery',
  'keySource.uploaded': 'hochgeladen',

  'mail.notSent': 'Die E-Mail wurde nicht gesendet',
  'mail.recipient': 'Empfänger',
  'mail.sent': 'Der SMTP-Server hat die E-Mail angenommen',
  'mail.test': 'Test-E-Mail senden',
  'mail.test.lead': 'Die E-Mail wird sofort gesendet und umgeht die Warteschlange.',

  'setting.corsOrigins': 'Erlaubte Origins (CORS)',
  'setting.defaultKey': 'Standard-Signaturschlüssel',
  'setting.hsmDeadlineMs': 'Timeout für HSM-Aufrufe (ms)',
  'setting.hsmSessions': 'HSM-Sitzungen',
  'setting.jwtExpirationHours': 'Gültigkeit von Zugriffstoken (Stunden)',
  'setting.profile': 'Profil',
  'setting.publicUrl': 'Öffentliche URL',
  'setting.role': 'Prozessrolle',
  'setting.signingMaxAgeHours': 'Ablauf von Signaturanfragen (Stunden)',
  'setting.tokenLabel': 'HSM-Token',

  'settings.lead': 'Einstellungen, mit denen der Dienst gestartet wurde. Betreiber ändern sie über Umgebungsvariablen.',

  grantedKeys: 'Signaturschlüssel',
  'grantedKeys.hint':
    'Geben Sie pro Zeile einen Namen ein. * steht für beliebige Zeichen, z. B. release-*. Ohne Eintrag sind alle Signaturschlüssel erlaubt.',
  'scopes.withoutEffect': 'Ohne Wirkung, weil nur Personen sie nutzen können: {scopes}',

  'trusts.audience': 'Audience',
  'trusts.audience.hint': 'Der erwartete Claim aud. Leer: die öffentliche URL dieses Dienstes.',
  'trusts.create': 'Vertrauensregel anlegen',
  'trusts.edit.lead': 'Zugriffstoken, die nach dieser Regel ausgestellt werden, haben nie mehr Berechtigungen als Sie.',
  'trusts.lead': 'Welche Workload-Token akzeptiert werden und welchen Zugriff sie gewähren.',
  'trusts.life': 'Gültigkeit von Zugriffstoken (Sekunden)',
  'trusts.none': 'Noch keine Vertrauensregeln',
  'trusts.none.body': 'Ohne Vertrauensregel werden keine Workload-Token akzeptiert.',
  'trusts.none.issuer': 'Fügen Sie einen Aussteller hinzu, bevor Sie eine Vertrauensregel anlegen.',
  'trusts.one': 'Vertrauensregel',
  'trusts.certificateBound': 'Token an ein Client-Zertifikat binden (mTLS)',
  'trusts.certificateBound.hint':
    'Clients müssen ein TLS-Zertifikat vorlegen, um ein Token zu erhalten. Das Token funktioniert nur mit diesem Zertifikat (RFC 8705).',
  'trusts.dpopBound': 'Token an einen Schlüssel binden (DPoP)',
  'trusts.dpopBound.hint':
    'Clients müssen den Besitz eines Schlüssels nachweisen, um ein Token zu erhalten. Das Token funktioniert nur mit diesem Schlüssel (RFC 9449).',
  'trusts.pullRequests': 'Ausführungen für Pull- und Merge-Requests akzeptieren',
  'trusts.pullRequests.hint': 'Pull-Requests können nicht vertrauenswürdigen Code aus Forks enthalten.',
  'trusts.pullRequests.yes': 'einschließlich Pull-Requests',
  'trusts.remove.lead':
    'Nach „{name}“ werden keine Token mehr akzeptiert. Bereits ausgestellte Zugriffstoken werden innerhalb weniger Sekunden abgelehnt.',
  'trusts.tenantNotNamed':
    'Keine Bedingung schränkt Organisation oder Subject ein. Wenn dieser Aussteller auch andere Mandanten bedient, werden deren Ausführungen ebenfalls akzeptiert. Fügen Sie eine Bedingung für sub oder Ihre Organisation hinzu.',
  'trusts.try.lead':
    'Zeigt, welche Vertrauensregeln ein Token akzeptieren würden und warum die übrigen nicht. Es wird kein Zugriff gewährt.',

  'webhook.slack': 'Slack',
  'webhook.standard': 'Signiertes JSON',
  'webhook.teams': 'Microsoft Teams',

  'webhooks.answer': 'Letzte Antwort',
  'webhooks.attempts': 'Versuche',
  'webhooks.create': 'Webhook anlegen',
  'webhooks.create.lead': 'Ereignisse werden an Ihre HTTPS-URL gesendet, sobald sie eintreten.',
  'webhooks.deliveries': 'Zustellungen',
  'webhooks.event': 'Ereignis',
  'webhooks.events': 'Ereignisse',
  'webhooks.events.hint': 'Wählen Sie alle Ereignisse einer Kategorie (alert.*) oder einzelne Ereignisse.',
  'webhooks.eventsWithoutEffect': 'Nicht mehr unterstützt: {names}',
  'webhooks.lead': 'Senden Sie Ereignisse an andere Systeme. Jede Nachricht wird signiert.',
  'webhooks.nextTry': 'Nächster Versuch',
  'webhooks.noDeliveries': 'Noch keine Zustellungen',
  'webhooks.none': 'Noch keine Webhooks',
  'webhooks.redeliver': 'Erneut zustellen',
  'webhooks.redelivered': 'Zustellung erneut eingereiht',
  'webhooks.remove.lead': '„{name}“ erhält keine Ereignisse mehr und ausstehende Zustellungen werden verworfen.',
  'webhooks.secret': 'Secret rotieren',
  'webhooks.secret.lead':
    'Erzeugt ein neues Signatur-Secret für „{name}“. Während einer Übergangszeit werden Nachrichten mit beiden Secrets signiert.',
  'webhooks.test': 'Testnachricht senden',
  'webhooks.tested': 'Testnachricht eingereiht',
  'webhooks.theSecret': 'Signatur-Secret',
  'webhooks.url': 'URL',
};
