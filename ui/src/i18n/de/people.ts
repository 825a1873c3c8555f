import type { people as english } from '../en/people.js';

export const people: Record<keyof typeof english, string> = {
  'factor.passkey': 'Passkey',
  'factor.totp': 'Authenticator-App',

  'factors.add': 'Authenticator-App hinzufügen',
  'factors.add.lead': 'Bei der Anmeldung benötigen Sie dann zusätzlich einen Code aus dieser App.',
  'factors.addPasskey': 'Passkey hinzufügen',
  'factors.addPasskey.lead':
    'Verwenden Sie einen Sicherheitsschlüssel oder dieses Gerät mit Fingerabdruck oder PIN. Ihr Browser führt Sie durch die Einrichtung.',
  'factors.added': 'Zweiter Faktor hinzugefügt',
  'factors.codes': 'Neue Wiederherstellungscodes',
  'factors.confirm': 'Bestätigen',
  'factors.name': 'Name der App',
  'factors.name.default': 'Mein Telefon',
  'factors.none':
    'Ihr Konto ist nur durch Ihr Passwort geschützt. Fügen Sie einen Passkey oder eine Authenticator-App hinzu.',
  'factors.passkey.default': 'Sicherheitsschlüssel',
  'factors.qr': 'QR-Code für die Authenticator-App',
  'factors.scan':
    'Scannen Sie den QR-Code mit Ihrer Authenticator-App und geben Sie den angezeigten sechsstelligen Code ein.',
  'factors.secret': 'Oder geben Sie diesen Einrichtungsschlüssel ein',

  'invitations.by': 'Eingeladen von',
  'invitations.link': 'Einladungslink',
  'invitations.until': 'Gültig bis',

  'people.more': 'und {count} weitere Personen',
  'people.more.one': 'und 1 weitere Person',

  'profile.currentPassword': 'Aktuelles Passwort',
  'profile.permissions': 'Ihre Berechtigungen',
  'profile.newPassword': 'Neues Passwort',
  'profile.newPassword.hint': 'Mindestens 12 Zeichen.',
  'profile.password': 'Passwort ändern',
  'profile.password.lead': 'Alle Ihre anderen Sitzungen werden beendet.',
  'profile.passwordChanged': 'Passwort geändert',

  'role.admin': 'Administrator',
  'role.approver': 'Genehmiger',
  'role.auditor': 'Auditor',
  'role.operator': 'Operator',
  'role.viewer': 'Betrachter',

  'roleHint.admin': 'Hat alle Berechtigungen, kann aber eigene Anfragen nicht genehmigen',
  'roleHint.approver': 'Genehmigt Anfragen oder lehnt sie ab',
  'roleHint.auditor': 'Kann die meisten Seiten und das Audit-Log ansehen, aber nichts ändern',
  'roleHint.operator': 'Signiert Dateien, führt Scans aus, rotiert SSH-Schlüssel und verwaltet Alarme und Sensoren',
  'roleHint.viewer': 'Kann Schlüssel, Hosts, Assets und Anfragen ansehen',

  'scope.admin:*': 'Alle Berechtigungen',
  'scope.alerts:read': 'Alarme ansehen',
  'scope.alerts:write': 'Alarme und Alarmregeln verwalten',
  'scope.approvals:approve': 'Anfragen genehmigen und ablehnen',
  'scope.approvals:read': 'Genehmigungen und Richtlinien ansehen',
  'scope.approvals:write': 'Genehmigungsrichtlinien und Gruppen verwalten',
  'scope.audit:read': 'Audit-Log ansehen',
  'scope.discovery:run': 'Scans ausführen',
  'scope.hosts:read': 'Hosts ansehen',
  'scope.hosts:write': 'Hosts verwalten',
  'scope.inventory:read': 'Assets und ihr Risiko ansehen',
  'scope.inventory:report': 'Assets aus eigenen Quellen melden',
  'scope.inventory:write': 'Assets aus beliebigen Quellen importieren; Risikoregeln und Richtlinienpakete verwalten',
  'scope.keys:read': 'SSH-Schlüssel ansehen',
  'scope.keys:release': 'Private SSH-Schlüssel herausgeben',
  'scope.keys:rotate': 'SSH-Schlüssel rotieren',
  'scope.schedules:read': 'Zeitpläne ansehen',
  'scope.schedules:write': 'Zeitpläne verwalten',
  'scope.sensors:read': 'Sensoren ansehen',
  'scope.sensors:report': 'Assets als Sensor melden',
  'scope.sensors:write': 'Sensoren registrieren und verwalten',
  'scope.settings:read': 'Einstellungen ansehen',
  'scope.settings:write': 'Einstellungen ändern',
  'scope.sign:digest': 'Digests signieren',
  'scope.sign:read': 'Signaturanfragen ansehen',
  'scope.signing-keys:read': 'Signaturschlüssel ansehen',
  'scope.signing-keys:write': 'Signaturschlüssel erzeugen und verwalten',
  'scope.ssh-ca:issue': 'SSH-Zertifikate ausstellen',
  'scope.ssh-ca:login': 'SSH-Zertifikate über Anmelderegeln beziehen',
  'scope.ssh-ca:write': 'SSH-CAs verwalten',
  'scope.system:read': 'Systemzustand und Metriken ansehen',
  'scope.timestamps:issue': 'Zeitstempel ausstellen',
  'scope.users:read': 'Benutzer ansehen',
  'scope.users:write': 'Benutzer einladen und verwalten',
  'scope.webhooks:read': 'Webhooks ansehen',
  'scope.webhooks:write': 'Webhooks verwalten',

  'sessions.agent': 'Browser oder Anwendung',
  'sessions.current': 'Aktuelle Sitzung',
  'sessions.end': 'Beenden',
  'sessions.endOthers': 'Alle anderen Sitzungen beenden',
  'sessions.ended': 'Sitzung beendet',
  'sessions.way': 'Anmeldeverfahren',

  'notSignedIn.sso.address-misleading':
    'Ihre E-Mail-Adresse beim Identitätsanbieter enthält unsichtbare Zeichen oder Zeichen verschiedener Schriften. Lassen Sie sie dort korrigieren.',
  'notSignedIn.sso.address-taken':
    'Es gibt bereits ein Konto mit Ihrer E-Mail-Adresse, das nicht mit diesem Identitätsanbieter verknüpft ist. Melden Sie sich wie bisher an.',
  'notSignedIn.sso.address-unverified':
    'Ihre E-Mail-Adresse ist beim Identitätsanbieter nicht bestätigt. Bestätigen Sie sie dort und versuchen Sie es erneut.',
  'notSignedIn.sso.claims-left-out':
    'Sie gehören so vielen Gruppen an, dass der Identitätsanbieter sie bei der Anmeldung nicht übermittelt. Wenden Sie sich an einen Administrator.',
  'notSignedIn.sso.disabled':
    'Dieses Konto oder dieser Identitätsanbieter ist deaktiviert. Wenden Sie sich an einen Administrator.',
  'notSignedIn.sso.name-format':
    'Der Identitätsanbieter hat ein NameID-Format gesendet, das dieser Dienst nicht akzeptiert. Bitten Sie einen Administrator, das NameID-Format des Anbieters zu korrigieren.',
  'notSignedIn.sso.no-address':
    'Der Identitätsanbieter hat Ihre E-Mail-Adresse nicht übermittelt. Wenden Sie sich an einen Administrator.',
  'notSignedIn.sso.no-role':
    'Keine Ihrer Gruppen gibt Ihnen eine Rolle in diesem Dienst. Bitten Sie einen Administrator um Zugriff.',
  'notSignedIn.sso.provider-away':
    'Der Identitätsanbieter antwortet nicht wie erwartet. Versuchen Sie es später erneut.',
  'notSignedIn.sso.redirect-shared':
    'Mehrere Identitätsanbieter verwenden dieselbe Redirect-URI und die Antwort nennt keinen Issuer. Bitten Sie einen Administrator, jedem Anbieter eine eigene URI zu geben.',
  'notSignedIn.sso.refused':
    'Der Identitätsanbieter hat die Anmeldung abgelehnt oder seine Antwort konnte nicht verifiziert werden. Versuchen Sie es erneut. Bleibt das Problem bestehen, bitten Sie einen Administrator, das Log zu prüfen.',
  'notSignedIn.sso.unknown':
    'Diese Anmeldung wurde nicht in diesem Browser begonnen, hat länger als zehn Minuten gedauert oder ist bereits abgeschlossen. Beginnen Sie von vorn.',
  'notSignedIn.sso.weak-sign-in':
    'Dieser Dienst verlangt eine stärkere Anmeldung beim Identitätsanbieter. Melden Sie sich dort mit Ihrem zweiten Faktor an.',

  'signIn.code': 'Code aus Ihrer Authenticator-App',
  'signIn.do': 'Anmelden',
  'signIn.email': 'E-Mail-Adresse',
  'signIn.noPasskey':
    'Es wurde kein Passkey verwendet. Versuchen Sie es erneut oder verwenden Sie einen Code aus der App.',
  'signIn.or': 'oder',
  'signIn.password': 'Passwort',
  'signIn.recoveryCode': 'Wiederherstellungscode',
  'signIn.secondFactor': 'Zweiter Faktor',
  'signIn.ssoFailed': 'Die Anmeldung über den Identitätsanbieter ist fehlgeschlagen ({code}).',
  'signIn.title': 'Anmelden',
  'signIn.tooMany': 'Zu viele Versuche. Versuchen Sie es in einigen Minuten erneut.',
  'signIn.useCode': 'Code aus der App verwenden',
  'signIn.usePasskey': 'Passkey verwenden',
  'signIn.useRecovery': 'Wiederherstellungscode verwenden',
  'signIn.with': 'Anmelden mit {name}',
  'signIn.wrong': 'E-Mail-Adresse oder Passwort ist falsch.',
  'signIn.wrongCode': 'Der Code ist falsch oder wurde bereits verwendet. Warten Sie auf den nächsten Code.',

  'users.disable': 'Deaktivieren',
  'users.enable': 'Aktivieren',
  'users.enable.lead': '{name} kann sich wieder anmelden.',
  'users.factors': 'Zweite Faktoren zurücksetzen',
  'users.factors.lead':
    'Verwenden Sie dies, wenn {name} ein Gerät verloren hat. Bis ein neuer zweiter Faktor hinzugefügt wird, genügt zur Anmeldung das Passwort.',
  'users.invite': 'Person einladen',
  'users.invite.lead': 'Die Person erhält eine E-Mail mit einem Link und wählt ihr Passwort selbst.',
  'users.lead': 'Personen, die sich anmelden können, und ihre Rollen.',
  'users.none': 'Noch keine Benutzer',
  'users.provider': 'Identitätsanbieter',
  'users.reset': 'E-Mail zum Zurücksetzen des Passworts senden',
  'users.reset.lead': '{name} erhält eine E-Mail mit einem Link zum Festlegen eines neuen Passworts.',
  'users.roles': 'Rollen ändern',
  'users.sessions': 'Sitzungen',
  'users.sessions.end': 'Alle Sitzungen beenden',
  'users.sessions.lead': 'Aktive Sitzungen von {name}.',
  'users.sessions.none': 'Keine aktiven Sitzungen.',
  'users.toggle.lead':
    'Beendet alle Sitzungen von {name}. Die zugehörigen API-Schlüssel und Clients werden innerhalb weniger Sekunden ungültig.',

  'way.client-credentials': 'Client-Credentials',
  'way.device': 'Geräteautorisierung',
  'way.oidc': 'OpenID Connect',
  'way.password': 'Passwort',
  'way.registration': 'Registrierung',
  'way.saml': 'SAML',
  'way.workload': 'Identitätstoken eines Workloads',
};
