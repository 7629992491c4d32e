"""Draw dashboards with Grafana's own SDK, as JSON that any Grafana from version 10 on takes.

The data source is a variable, because nobody's Prometheus has the same name.
"""

import json
from collections.abc import Callable

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.panels import (
    ANY,
    Column,
    Dashboard,
    Event,
    Kind,
    Limits,
    Panel,
    Query,
    Selection,
    Table,
    Unit,
)

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
_HEIGHTS = {Kind.NUMBER: 4, Kind.LINES: 8, Kind.STACK: 8, Kind.STATES: 8}
_TO_THE_JOB = (
    "/d/sluice-job?${datasource:queryparam}"
    "&var-namespace=${__data.fields.namespace}&var-job=${__data.fields.job}"
)


def drawn(dashboard: Dashboard) -> str:
    """The dashboard's file."""
    page = (
        builders.Dashboard(dashboard.title)
        .uid(f"sluice-{dashboard.name}")
        .description(dashboard.description)
        .tags(["sluice"])
        .time(dashboard.since, "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .variables(_variables(dashboard.selection))
        .annotations([_annotation(event) for event in dashboard.events])
    )
    for row in dashboard.rows:
        page.with_row(builders.Row(row.title))
        for panel in row.panels:
            page.with_panel(_table(panel) if isinstance(panel, Table) else _panel(panel))
    return json.dumps(_numbered(page.build()), cls=JSONEncoder, indent=1, sort_keys=True) + "\n"


def _numbered(page: models.Dashboard) -> models.Dashboard:
    """Give each panel an id that stays while the page does, so that links to it hold."""
    for number, panel in enumerate(page.panels or (), start=1):
        panel.id_val = number
    return page


def _variables(selection: Selection) -> list[Builder[models.VariableModel]]:
    source = builders.DatasourceVariable("datasource").label("Data source").type("prometheus")
    if selection is Selection.NONE:
        return [source]
    many = selection is Selection.MANY
    return [
        source,
        _label_values("namespace", "Namespace", "label_values(sluice_job_phase, namespace)", many),
        _label_values(
            "job", "Job", 'label_values(sluice_job_phase{namespace=~"$namespace"}, job)', many
        ),
    ]


def _label_values(name: str, label: str, query: str, many: bool) -> builders.QueryVariable:
    return (
        builders.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(query)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(many)
        .include_all(many)
    )


def _annotation(event: Event) -> builders.AnnotationQuery:
    return (
        builders.AnnotationQuery()
        .name(event.title)
        .datasource(SOURCE)
        .enable(True)
        .icon_color("blue")
        .expr(event.expression)
    )


def _panel(panel: Panel) -> Builder[models.Panel]:
    return _DRAWN[panel.kind](panel)


def _number(panel: Panel) -> stat.Panel:
    return (
        stat.Panel()
        .title(panel.title)
        .description(panel.description)
        .datasource(SOURCE)
        .unit(panel.unit)
        .thresholds(_thresholds(panel.limits))
        .targets([_target(query, index) for index, query in enumerate(panel.queries)])
        .span(panel.width)
        .height(_HEIGHTS[panel.kind])
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]))
        .color_mode(common.BigValueColorMode.VALUE)
        .graph_mode(common.BigValueGraphMode.AREA)
    )


def _lines(panel: Panel) -> timeseries.Panel:
    return (
        timeseries.Panel()
        .title(panel.title)
        .description(panel.description)
        .datasource(SOURCE)
        .unit(panel.unit)
        .axis_soft_min(0)
        .thresholds(_thresholds(panel.limits))
        .thresholds_style(_dashed_limits(panel.limits))
        .targets([_target(query, index) for index, query in enumerate(panel.queries)])
        .span(panel.width)
        .height(_HEIGHTS[panel.kind])
        .legend(_legend())
        .tooltip(common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI))
        .fill_opacity(5)
    )


def _stack(panel: Panel) -> timeseries.Panel:
    stacking = common_builders.StackingConfig().mode(common.StackingMode.NORMAL)
    return _lines(panel).stacking(stacking).fill_opacity(30)


def _states(panel: Panel) -> statetimeline.Panel:
    return (
        statetimeline.Panel()
        .title(panel.title)
        .description(panel.description)
        .datasource(SOURCE)
        .unit(panel.unit)
        .thresholds(_thresholds(panel.limits))
        .color_scheme(builders.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .targets([_target(query, index) for index, query in enumerate(panel.queries)])
        .span(panel.width)
        .height(_HEIGHTS[panel.kind])
        .show_value(common.VisibilityMode.NEVER)
        .merge_values(True)
    )


_DRAWN: dict[Kind, Callable[[Panel], Builder[models.Panel]]] = {
    Kind.NUMBER: _number,
    Kind.LINES: _lines,
    Kind.STACK: _stack,
    Kind.STATES: _states,
}


def _legend() -> common_builders.VizLegendOptions:
    return (
        common_builders.VizLegendOptions()
        .show_legend(True)
        .display_mode(common.LegendDisplayMode.LIST)
        .placement(common.LegendPlacement.BOTTOM)
    )


def _dashed_limits(limits: Limits) -> common_builders.GraphThresholdsStyleConfig:
    """Show where a number becomes bad; where none does, show nothing."""
    has_red = any(color == "red" and value is not None for value, color in limits)
    mode = common.GraphTresholdsStyleMode.DASHED if has_red else common.GraphTresholdsStyleMode.OFF
    return common_builders.GraphThresholdsStyleConfig().mode(mode)


def _thresholds(limits: Limits) -> builders.ThresholdsConfig:
    steps = [models.Threshold(value=value, color=color) for value, color in limits]
    return builders.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)


def _target(query: Query, index: int) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .datasource(SOURCE)
        .expr(query.expression)
        .legend_format(query.legend)
        .ref_id(chr(ord("A") + index))
        .range()
    )


def _table(content: Table) -> table.Panel:
    panel = (
        table.Panel()
        .title(content.title)
        .description(content.description)
        .datasource(SOURCE)
        .unit(Unit.COUNT)
        .thresholds(_thresholds(ANY))
        .span(24)
        .height(12)
        .transformations(_joined(content.columns))
    )
    for index, column in enumerate(content.columns):
        answer = _target(Query(column.expression), index).instant().format(PromQueryFormat.TABLE)
        panel.with_target(answer)
        panel.override_by_name(column.title, _cell(column))
    link = [{"title": "Open the job's dashboard", "url": _TO_THE_JOB}]
    return panel.override_by_name("job", [models.DynamicConfigValue("links", link)])


def _joined(columns: tuple[Column, ...]) -> list[models.DataTransformerConfig]:
    """One line for each job, and columns named after what they show."""
    values = {
        f"Value #{chr(ord('A') + index)}": column.title for index, column in enumerate(columns)
    }
    order = {name: index for index, name in enumerate(["namespace", "job", *values])}
    return [
        models.DataTransformerConfig(id_val="merge", options={}),
        models.DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {"Time": True},
                "indexByName": order,
                "renameByName": values,
            },
        ),
    ]


def _cell(column: Column) -> list[models.DynamicConfigValue]:
    return [
        models.DynamicConfigValue("unit", column.unit),
        models.DynamicConfigValue("thresholds", _thresholds(column.limits).build()),
        models.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
    ]
