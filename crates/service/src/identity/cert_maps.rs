//! The configured map from certificates to user names: `cert-maps` of espalier-system.

use espalier_store::{Result, Selection, View};
use espalier_yang::data::{DataNode, TreeBuilder};
use espalier_yang::path::{InstancePath, Keys};
use espalier_yang::{NodeId, Schema, Value};

use super::cert_to_name::{ENTRIES_MAX, Fingerprint, MapEntry, MapType};
use super::users::{SYSTEM_MODULE, text};

/// The maximum number of nodes of the map's data: an entry has five.
const NODES_MAX: usize = ENTRIES_MAX * 6;

/// Reads the entries of the map; none if the schema does not have it. Entries that cannot be used are left out, with a
/// warning: they match no certificate.
pub(super) fn read(view: &View) -> Result<Vec<MapEntry>> {
    let Some(nodes) = MapNodes::find(view.schema()) else {
        return Ok(Vec::new());
    };
    let steps = [nodes.system, nodes.authentication, nodes.maps];
    let path = steps.into_iter().fold(InstancePath::root(), |path, node| {
        path.child(node, Keys::None)
    });
    let mut builder = TreeBuilder::with_limit(NODES_MAX);
    view.read(&path, &Selection::default(), &mut builder)?;
    let tree = builder.finish()?;
    let entries = tree.nodes.iter().flat_map(DataNode::children);
    let entries = entries.filter(|child| child.node == nodes.entry);
    Ok(entries.filter_map(|entry| nodes.entry(entry)).collect())
}

/// The schema nodes of the map.
struct MapNodes {
    system: NodeId,
    authentication: NodeId,
    maps: NodeId,
    entry: NodeId,
    id: NodeId,
    fingerprint: NodeId,
    map_type: NodeId,
    name: NodeId,
}

impl MapNodes {
    fn find(schema: &Schema) -> Option<Self> {
        let system_module = schema.module_by_name(SYSTEM_MODULE)?;
        let module = schema.module_by_name("espalier-system")?;
        let system = schema.child(None, system_module, "system")?;
        let authentication = schema.child(Some(system), system_module, "authentication")?;
        let maps = schema.child(Some(authentication), module, "cert-maps")?;
        let entry = schema.child(Some(maps), module, "cert-to-name")?;
        let leaf = |name| schema.child(Some(entry), module, name);
        Some(Self {
            system,
            authentication,
            maps,
            entry,
            id: leaf("id")?,
            fingerprint: leaf("fingerprint")?,
            map_type: leaf("map-type")?,
            name: leaf("name")?,
        })
    }

    fn entry(&self, entry: &DataNode) -> Option<MapEntry> {
        let id = entry.child(self.id).and_then(DataNode::value);
        let id = id.and_then(|id| id.to_string().parse().ok())?;
        let fingerprint = text(entry, self.fingerprint)?;
        let fingerprint = match Fingerprint::parse(fingerprint) {
            Ok(fingerprint) => fingerprint,
            Err(error) => {
                tracing::warn!(id, %error, "an entry of cert-to-name matches no certificate");
                return None;
            }
        };
        Some(MapEntry {
            id,
            fingerprint,
            map_type: self.map_type(entry)?,
        })
    }

    fn map_type(&self, entry: &DataNode) -> Option<MapType> {
        let Some(Value::Identity(identity)) = entry.child(self.map_type)?.value() else {
            return None;
        };
        match identity.rsplit(':').next()? {
            "specified" => text(entry, self.name).map(|name| MapType::Specified(name.to_owned())),
            "san-rfc822-name" => Some(MapType::SanRfc822Name),
            "san-dns-name" => Some(MapType::SanDnsName),
            "san-ip-address" => Some(MapType::SanIpAddress),
            "san-any" => Some(MapType::SanAny),
            "common-name" => Some(MapType::CommonName),
            _ => None,
        }
    }
}
