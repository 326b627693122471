"""Words of column names that speak for a role, in English, German, French and Spanish.

Written without accents, as `plain` gives them.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


DIRECT = _listed(
    """
    email mail phone telephone tel mobile fax ssn sin nin nino passport iban surname lastname
    firstname fullname forename maidenname username login nhs taxid insuranceno licence license ip
    mac nachname vorname familienname geburtsname rufname telefon telefonnummer handy handynummer
    versichertennummer versicherungsnummer sozialversicherungsnummer svnr steuerid steuernummer
    personalausweis ausweisnummer reisepass kontonummer benutzername aktenzeichen nom prenom
    prenoms nomdefamille courriel portable passeport nir nombre nombres apellido apellidos
    telefono movil correo pasaporte dni nie nif cedula
    """
)
KEYS = _listed(
    """
    id ids uid uuid guid key identifier number no nr code personid patientid policyid record
    nummer kennung schluessel schlussel numero identifiant cle clave identificador patientennummer
    patientennr kundennummer kundennr personalnummer personalnr matrikelnummer mitgliedsnummer
    fallnummer
    """
)
PERSONS = _listed(
    """
    pid personid patientid memberid customerid employeeid patientennummer patientennr kundennummer
    kundennr personalnummer mitgliedsnummer
    """
)
"""Keys of people, who may have several records."""
PEOPLE = PERSONS | _listed("id ids uid uuid guid")
HOMES = _listed(
    """
    hid hhid householdid householdnumber householdno householdnr idhh hhnr hhno idh familyid idmen
    idmenage haushaltsnummer haushaltsid haushaltid haushaltnr hogarid idhogar
    """
)
"""Keys of households."""
NAMES = _listed(
    """
    first last full given family middle maiden patient person customer client employee
    """
)
SENSITIVE = _listed(
    """
    income salary wage wages pay earning earnings asset assets wealth worth debt debts loan loans
    credit gain gains loss losses revenue profit tax taxes taxinc balance savings saving
    expenditure expend spending amount dividend dividends money pension benefit rent diagnosis
    diagnoses disease health illness condition hiv aids icd drug drugs medication medicine therapy
    treatment drinks drinking alcohol smoker smoking disability disabled pregnant religion
    orientation party vote crime conviction offence score grade rating bmi blood pressure
    cholesterol symptom injury suicide abuse status_exit exitstatus claim claims diabetes diabete
    diabetic stroke cancer heart asthma infection infected medicaid ethnicbelief union lohn rente
    miete note noten darlehen sparguthaben kaufkraft geld betrag guthaben therapie behandlung
    sucht drogen blutdruck gewicht allergie allergien psyche kirchensteuer partei paie traitement
    loyer sante malade montant argent epargne pret note notes parti drogue tabac sueldo paga
    alquiler salud dinero importe ahorro ahorros prestamo nota notas partido droga tabaco delito
    renta ingresos
    """
)
SENSITIVE_STEMS = (
    *("gehalt", "einkommen", "einkunft", "verdienst", "vermogen", "schulden", "ersparnis"),
    *("diagnos", "krank", "befund", "medika", "behinder", "religi", "konfession", "gewerkschaft"),
    *("straftat", "vorstrafe", "schwanger", "sexuell", "alkohol", "raucher", "umsatz", "steuer"),
    *("salair", "salar", "remunerat", "revenu", "patrimoin", "dette", "impot", "maladie"),
    *("handicap", "syndica", "grossesse", "enceinte", "fumeur", "confession", "chomage"),
    *("patrimonio", "deuda", "impuesto", "enferm", "discapaci", "sindic", "embaraz", "fumador"),
)
"""Parts of words, for German joins them: Bruttojahresgehalt."""
SENSITIVE_ENDS = ("lohn", "rente", "miete")
QUASI = _listed(
    """
    age birth birthday birthdate dob born sex gender race ethnic ethnicity origin nation
    nationality country citizenship citizen region state province county district city town
    village municipality zip zipcode postcode postal plz address street education educ edu school
    schooling degree job occupation profession work workclass employer employment emp industry
    sector marital married civil spouse children child kids household family relationship relation
    relat language hours housing house height entry entrydate admission discharge visit migration
    veteran military alter sexe genre edad sexo genero ort wohnort gemeinde stadt kreis landkreis
    bundesland land staat strasse anschrift adresse postleitzahl beruf tatigkeit branche
    arbeitgeber bildung ausbildung schule abschluss schulabschluss familienstand kinder kinderzahl
    haushalt sprache herkunft eintritt aufnahme entlassung wochenstunden grosse commune ville
    departement pays rue metier diplome etudes enfants menage langue origine adresse codepostal
    etatcivil embauche entree sortie taille ciudad pais provincia municipio comunidad calle
    direccion codigopostal ocupacion profesion empleo estudios hijos hogar idioma origen
    estadocivil ingreso alta
    """
)
QUASI_STEMS = (
    *("geburt", "geschlecht", "nationalit", "staatsang", "arbeitszeit", "haushaltsgr"),
    *("naissance", "matrimonial", "nacimiento", "nacionalidad"),
)
FREE = _listed(
    """
    comment comments remark remarks note notes text freetext memo description bemerkung
    bemerkungen kommentar freitext anmerkung anmerkungen beschreibung commentaire commentaires
    remarque remarques observacion observaciones comentario comentarios descripcion
    """
)
WEIGHTS = _listed(
    """
    fnlwgt wgt samplingweight instanceweight hochrechnungsfaktor
    """
)
CODES = _listed(
    """
    zip zipcode postcode postal plz postleitzahl code codigopostal codepostal
    """
)


def plain(text: str) -> str:
    """Text in lower case without accents.

    Examples
    --------
    >>> plain("Religión"), plain("Vermögen"), plain("Straße")
    ('religion', 'vermogen', 'strasse')
    """
    apart = unicodedata.normalize("NFKD", text.lower().replace("ß", "ss"))
    return "".join(c for c in apart if not unicodedata.combining(c))


def tokens(name: str) -> set[str]:
    """The words of a column name, plain; also its neighbours joined.

    Examples
    --------
    >>> sorted(tokens("birthDate")), sorted(tokens("code postal"))
    (['birth', 'birthdate', 'date'], ['code', 'codepostal', 'postal'])
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = [w.rstrip("0123456789") or w for w in re.split(r"[\W_]+", plain(spaced)) if w]
    return {*words, *(a + b for a, b in pairwise(words))}


def says_sensitive(words: set[str]) -> bool:
    """Whether the words of a name say something that a person may want to keep private."""
    return bool(words & SENSITIVE) or any(
        any(stem in word for stem in SENSITIVE_STEMS) or word.endswith(SENSITIVE_ENDS)
        for word in words
    )


def says_known(words: set[str]) -> bool:
    """Whether the words of a name say something that others may know of a person."""
    return bool(words & QUASI) or any(stem in word for word in words for stem in QUASI_STEMS)
